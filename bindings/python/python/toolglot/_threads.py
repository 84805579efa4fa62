"""Blocking functions beside an event loop, in threads that nobody waits for when the program ends."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Awaitable, Callable
from typing import Any


def words(error: BaseException) -> str:
    """Name and words of an exception, also of one that cannot say them."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001
        said = ""
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def tamed(error: BaseException) -> Exception:
    """An exception that a task can raise and that ends nothing else: not an iteration, as `StopIteration` would, and not the
    program, as `SystemExit` would."""
    if isinstance(error, Exception) and not isinstance(error, (StopIteration, StopAsyncIteration)):
        return error
    return RuntimeError(words(error))


async def call(function: Callable[[], Any]) -> Any:
    """What a blocking function gives. If the caller is cancelled, the thread goes on, and what it gives is dropped."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def work() -> None:
        value: Any = None
        error: BaseException | None = None
        try:
            value = function()
        except BaseException as raised:  # noqa: BLE001
            error = tamed(raised)
        with contextlib.suppress(RuntimeError):  # The loop may be closed by now.
            loop.call_soon_threadsafe(settle, value, error)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), name="toolglot", daemon=True).start()
    return await future


async def each(make: Callable[[], Any], put: Callable[[Any], Awaitable[Any]]) -> Any:
    """Iterates in a thread over what `make` gives there, and puts each item here, one after the other. What has to be awaited or
    iterated in the loop is given back as it is. If the caller is cancelled, the thread ends with its next item."""
    loop = asyncio.get_running_loop()
    items: asyncio.Queue[Any] = asyncio.Queue()
    taken = threading.Semaphore(0)
    stopped = threading.Event()
    end = object()

    def work() -> Any:
        try:
            made = make()
            if hasattr(made, "__aiter__") or hasattr(made, "__await__"):
                return made
            try:
                for item in made:
                    if stopped.is_set():
                        break
                    loop.call_soon_threadsafe(items.put_nowait, item)
                    taken.acquire()
                    if stopped.is_set():
                        break
            finally:
                close = getattr(made, "close", None)
                if callable(close):
                    close()
        finally:
            with contextlib.suppress(RuntimeError):  # The loop may be closed by now.
                loop.call_soon_threadsafe(items.put_nowait, end)
        return None

    thread = asyncio.ensure_future(call(work))
    try:
        while (item := await items.get()) is not end:
            await put(item)
            taken.release()
        return await thread
    finally:
        stopped.set()
        taken.release()
        thread.cancel()
