"""Blocking functions beside an event loop, in threads that nobody waits for when the program ends."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Awaitable, Callable
from typing import Any


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
        except StopIteration as stopped:
            # A future cannot raise it.
            error = RuntimeError(f"StopIteration: {stopped}")
        except Exception as raised:  # noqa: BLE001
            error = raised
        except BaseException as raised:  # noqa: BLE001
            # SystemExit and its like end a thread, not the program.
            error = RuntimeError(f"{type(raised).__name__}: {raised}")
        with contextlib.suppress(RuntimeError):  # The loop may be closed by now.
            loop.call_soon_threadsafe(settle, value, error)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), name="toolglot", daemon=True).start()
    return await future


async def each(make: Callable[[], Any], put: Callable[[Any], Awaitable[Any]]) -> Any:
    """Iterates in a thread over what `make` gives there, and puts each item here, one after the other. What has to be awaited or
    iterated in the loop is given back as it is."""
    loop = asyncio.get_running_loop()
    stopped = threading.Event()

    def work() -> Any:
        made = make()
        if hasattr(made, "__aiter__") or hasattr(made, "__await__"):
            return made
        try:
            for item in made:
                if stopped.is_set():
                    break
                asyncio.run_coroutine_threadsafe(_awaited(put(item)), loop).result()
        finally:
            close = getattr(made, "close", None)
            if callable(close):
                close()
        return None

    try:
        return await call(work)
    finally:
        stopped.set()


async def _awaited(what: Awaitable[Any]) -> Any:
    return await what
