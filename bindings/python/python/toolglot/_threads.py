"""Runs blocking functions beside an event loop, in daemon threads that do not delay the program's exit."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Awaitable, Callable
from typing import Any


def words(error: BaseException) -> str:
    """Name and message of an exception, even of one whose `str` fails."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001
        said = ""
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def tamed(error: BaseException) -> Exception:
    """An exception that a task can raise without further effect: not `StopIteration`, which would end an
    iteration, nor `SystemExit`, which would end the program.
    """
    if isinstance(error, Exception) and not isinstance(error, (StopIteration, StopAsyncIteration)):
        return error
    return RuntimeError(words(error))


async def call(function: Callable[[], Any]) -> Any:
    """Returns the result of a blocking function. If the caller is cancelled, the thread goes on and its result is dropped.
    """
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
    """Calls `make` in a thread, iterates over its result there, and passes each item to `put` in this loop, one at
    a time. A result that must be awaited or iterated in the loop is returned as it is. If the caller is cancelled,
    the thread ends at its next item.
    """
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
