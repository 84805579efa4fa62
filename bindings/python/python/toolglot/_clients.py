"""Turns what clients of model servers yield into events, or into chunks of an OpenAI response.

No client is imported: a chunk is recognised by its shape. It is turned into the JSON of its API and read by the same native
code that reads response bodies, so there is one definition of what a chunk says.
"""

from __future__ import annotations

import contextlib
import inspect
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from typing import Any

from . import _shapes
from ._native import Engine, Reader, Stream, Turn
from ._types import Event, Target

__all__ = ["AsyncEvents", "Events", "aevents", "ato_openai", "events", "to_completion", "to_openai"]


def events(
    stream: Any,
    *,
    engine: Engine | None = None,
    source: str = "auto",
    choice: int = 0,
    tools: Any = None,
) -> Events:
    """Returns an iterator over the events of what a client yields.

    `stream` is an iterable of `str` (text), of chunks of an OpenAI, LiteLLM, Anthropic or Ollama client (objects or dicts), or
    of `bytes` (a response body, or its lines); or a single response that is not streamed. `source` says which of these it is
    where the shape is ambiguous: `"text"`, `"openai"`, `"anthropic"`, `"ollama"`.

    >>> import toolglot
    >>> chunk = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    >>> list(toolglot.events([chunk]))
    [Text(text='Hi', start=0, end=2, recovered=False)]
    """
    return Events(stream, Reading(engine or Engine(), source, choice, tools))


def aevents(
    stream: Any,
    *,
    engine: Engine | None = None,
    source: str = "auto",
    choice: int = 0,
    tools: Any = None,
) -> AsyncEvents:
    """`events` for an asynchronous iterable, or for a coroutine that returns one.

    >>> import asyncio, toolglot
    >>> async def reply():
    ...     yield "Hi <tool"
    >>> async def main():
    ...     return [event.text async for event in toolglot.aevents(reply())]
    >>> asyncio.run(main())
    ['Hi ', '<tool']
    """
    return AsyncEvents(stream, Reading(engine or Engine(), source, choice, tools))


class _Ended:
    """How a response ended."""

    _feed: Reading

    @property
    def reason(self) -> str | None:
        """Why the response ended: `"stop"`, `"length"`, `"tool_calls"`, `"error"`, `"cancelled"`. `None` before its end."""
        return self._feed.reason

    @property
    def errors(self) -> list[str]:
        """What could not be read, one sentence each."""
        return self._feed.errors


class Events(_Ended):
    """An iterator over events; `reason` and `errors` say how the response ended.

    >>> import toolglot
    >>> found = toolglot.events([b'data: {"choices":[{"delta":{"content":"Hi"}}]}\\n\\n'])
    >>> [event.text for event in found], found.reason, found.errors
    (['Hi'], 'error', ['the response broke off before its end'])
    """

    def __init__(self, stream: Any, feed: Reading) -> None:
        """Use `events` to make one."""
        self._feed = feed
        self._events = self._run(stream)

    def _run(self, stream: Any) -> Iterator[Event]:
        for item in _iter(stream):
            yield from self._feed.feed(item)
        yield from self._feed.finish()

    def __iter__(self) -> Events:
        """Returns the iterator itself."""
        return self

    def __next__(self) -> Event:
        """Returns the next event."""
        return next(self._events)


class AsyncEvents(_Ended):
    """An asynchronous iterator over events; `reason` and `errors` say how the response ended.

    A loop that is left early leaves the stream open: `aclose` closes both.

    >>> import asyncio, toolglot
    >>> async def body():
    ...     yield b'data: {"choices":[{"delta":{"content":"Hi"}}]}\\n\\n'
    >>> async def main():
    ...     found = toolglot.aevents(body())
    ...     return [event.text async for event in found], found.reason, found.errors
    >>> asyncio.run(main())
    (['Hi'], 'error', ['the response broke off before its end'])
    """

    def __init__(self, stream: Any, feed: Reading) -> None:
        """Use `aevents` to make one."""
        self._feed = feed
        self._stream = stream
        self._events = self._run(stream)

    async def _run(self, stream: Any) -> AsyncGenerator[Event, None]:
        async with contextlib.aclosing(_aiter(stream)) as items:
            async for item in items:
                for event in self._feed.feed(item):
                    yield event
        for event in self._feed.finish():
            yield event

    def __aiter__(self) -> AsyncEvents:
        """Returns the iterator itself."""
        return self

    async def __anext__(self) -> Event:
        """Returns the next event."""
        return await anext(self._events)

    async def aclose(self) -> None:
        """Ends the iteration, and closes the stream that was given. `contextlib.aclosing` calls it."""
        await self._events.aclose()
        # The iteration closes only what it has begun to read.
        await _closed(self._stream)


def to_openai(
    stream: Any,
    *,
    model: str = "",
    engine: Engine | None = None,
    source: str = "auto",
    **options: Any,
) -> Iterator[dict[str, Any]]:
    """Turns what a client yields into OpenAI chat completion chunks, as dicts, for a gateway.

    Calls that the model wrote into its text become `tool_calls` deltas, and `finish_reason` becomes `tool_calls`. `stream` and
    `source` are those of `events`, `options` those of `Engine.rewriter`. A response of OpenAI's shape, in bytes or in objects,
    keeps everything else: id, model, time, usage, `logprobs`, unknown members, errors as they came. Each choice is parsed on
    its own. An id or time that nothing gives is generated.

    >>> import toolglot
    >>> chunks = list(toolglot.to_openai(['<tool_call name="f"><param name="a">1</param></tool_call>'], model="m"))
    >>> chunks[-1]["choices"][0]["finish_reason"], chunks[-1]["model"]
    ('tool_calls', 'm')
    """
    rewrite = Rewriting(engine or Engine(), source, model, options)
    for item in _iter(stream):
        yield from rewrite.feed(item)
    yield from rewrite.finish()


async def ato_openai(
    stream: Any,
    *,
    model: str = "",
    engine: Engine | None = None,
    source: str = "auto",
    **options: Any,
) -> AsyncIterator[dict[str, Any]]:
    """`to_openai` for an asynchronous iterable. Its `aclose` closes the iterable too."""
    rewrite = Rewriting(engine or Engine(), source, model, options)
    async with contextlib.aclosing(_aiter(stream)) as items:
        async for item in items:
            for chunk in rewrite.feed(item):
                yield chunk
    for chunk in rewrite.finish():
        yield chunk


SOURCES = ("auto", "text", "openai", "anthropic", "ollama")


class Feed:
    """Passes items to a native reader, as soon as their kind is known.

    `target` makes the reader of a source. It is made at the first item whose kind is clear. Bytes may be pieces of a body, or
    its lines without line ends; the second item shows which.
    """

    def __init__(self, source: str, target: Callable[[str, Any], Target]) -> None:
        if source not in SOURCES:
            raise ValueError(f"source={source!r}: it is one of {', '.join(map(repr, SOURCES))}")
        self._source = None if source == "auto" else source
        self._target = target
        self._reader: Target | None = None
        self._head: list[bytes] = []
        self._lines: bool | None = None
        self._objects = False

    def feed(self, item: Any) -> list[Any]:
        """Takes the next item."""
        if isinstance(item, str):
            self._source = self._source or "text"
            return self._bytes(item.encode("utf-8")) if self._source != "text" else self._give(item)
        if isinstance(item, (bytes, bytearray, memoryview)):
            chunk = bytes(item)
            return self._bytes(chunk) if self._source != "text" else self._give(chunk)
        found = _shapes.source_of(item)
        if _shapes.is_error(item) and self._source not in (None, "text"):
            # An error does not have the shape of its API; it belongs to the API of the other items.
            found = self._source
        if found is None or self._source not in (None, found):
            wanted = self._source or "text, bytes, or a chunk of an OpenAI, Anthropic, Ollama or LiteLLM client"
            raise TypeError(f"a chunk is not {wanted}: {type(item).__name__}; pass source= if it is")
        self._source = found
        self._objects = True
        return self._give(self._document(found, item), item)

    def _document(self, found: str, item: Any) -> bytes:
        """The chunk as bytes of its API."""
        return _shapes.document(found, item)

    def finish(self) -> list[Any]:
        """Ends the items and returns what remains."""
        out = []
        if self._head:
            head = b"".join(self._head)
            self._source = self._source or _shapes.sniff(head, last=True)
            out += self._release(self._source == "text" or b"\n" in head)
        if self._objects:
            out += self._give(_shapes.END[str(self._source)])
        return out + self._open().finish()

    def _open(self, item: Any = None) -> Target:
        if self._reader is None:
            self._reader = self._target(self._source or "text", item)
        return self._reader

    def _give(self, chunk: str | bytes, item: Any = None) -> list[Any]:
        return self._open(item).feed(chunk)

    def _bytes(self, item: bytes) -> list[Any]:
        """Takes bytes of a body, or of text if they do not look like a body."""
        if self._lines is not None:
            return self._give(self._line(item) if self._lines else item)
        self._head.append(item)
        head = b"".join(self._head)
        self._source = self._source or _shapes.sniff(head)
        if self._source is None or not head:
            return []
        if self._source == "text" or b"\n" in head or b"\r" in head:
            return self._release(True)
        # One item without a line end: the next item shows whether it is a line. A piece that is not a line is rarely JSON.
        if len(self._head) == 1:
            return []
        return self._release(not _is_line(next(filter(None, self._head))))

    def _release(self, raw: bool) -> list[Any]:
        """Passes on the held items, and treats all later ones alike: as raw bytes, or as lines."""
        self._lines = not raw
        items, self._head = self._head, []
        return self._give(b"".join(items) if raw else b"".join(map(self._line, items)))

    def _line(self, line: bytes) -> bytes:
        """Adds the end of the line and that of its event, which clients may strip."""
        return line + (b"\n\n" if line.startswith(b"data:") else b"\n")


def _is_line(item: bytes) -> bool:
    """Whether the item is a whole line of a body."""
    if item.startswith((b"event:", b"id:", b"retry:", b":")):
        return True
    try:
        json.loads(item.removeprefix(b"data:"))
    except ValueError:
        return item.removeprefix(b"data:").strip() == b"[DONE]"
    return True


class Reading(Feed):
    """Turns items into events."""

    def __init__(self, engine: Engine, source: str, choice: int, tools: Any) -> None:
        def target(found: str, _item: Any) -> Target:
            if found == "text":
                return engine.stream(tools=tools)
            return engine.reader(found, choice=choice, tools=tools)  # type: ignore[arg-type]

        super().__init__(source, target)

    @property
    def reason(self) -> str | None:
        """Why the response ended."""
        if isinstance(self._reader, Reader):
            return self._reader.reason
        return "stop" if isinstance(self._reader, Stream) and self._reader.finished else None

    @property
    def errors(self) -> list[str]:
        """What could not be read."""
        return self._reader.errors if isinstance(self._reader, Reader) else []


class Rewriting(Feed):
    """Turns items into chunks of an OpenAI response."""

    def __init__(self, engine: Engine, source: str, model: str, options: dict[str, Any]) -> None:
        def target(found: str, item: Any) -> Target:
            # A response of OpenAI's shape carries these itself.
            told = {} if found == "openai" else _told(item)
            return engine.rewriter(found, **{**told, "model": model or told.get("model"), **options})  # type: ignore[arg-type]

        super().__init__(source, target)

    def _document(self, found: str, item: Any) -> bytes:
        """The chunk with all its members: whatever is not rewritten stays."""
        return _shapes.whole(item) if found == "openai" else super()._document(found, item)

    def feed(self, item: Any) -> list[Any]:
        return [json.loads(line) for line in super().feed(item)]

    def finish(self) -> list[Any]:
        return [line if isinstance(line, dict) else json.loads(line) for line in super().finish()]


def _told(item: Any) -> dict[str, Any]:
    """What a chunk of another API says about its response: id and model."""
    found = {"model": _shapes.member(item, "model"), "id": _shapes.member(item, "id")}
    return {key: value for key, value in found.items() if isinstance(value, str) and value}


def to_completion(
    response: Any,
    *,
    model: str = "",
    engine: Engine | None = None,
    source: str = "auto",
    **options: Any,
) -> dict[str, Any]:
    """Returns one OpenAI chat completion, as a dict, for a model's output or for a response that is not streamed.

    `response` is text, a `Turn`, a response of an OpenAI, LiteLLM, Anthropic or Ollama client (object or dict), or its bytes.
    Calls that the model wrote into its text become `tool_calls`, separately for each choice. A response of OpenAI's shape keeps
    everything else. `options` are those of `Engine.completion`.

    >>> import toolglot
    >>> made = toolglot.to_completion('<tool_call name="f"><param name="a">1</param></tool_call>', model="m")
    >>> made["choices"][0]["finish_reason"], made["choices"][0]["message"]["tool_calls"][0]["function"]["name"]
    ('tool_calls', 'f')
    """
    if source not in SOURCES:
        raise ValueError(f"source={source!r}: it is one of {', '.join(map(repr, SOURCES))}")
    one = engine or Engine()
    given = {"model": model, **options}
    if isinstance(response, (str, Turn)):
        found = "text" if source == "auto" or isinstance(response, Turn) else source
        return _loads(one.completion(response, found, **given))  # type: ignore[arg-type]
    if isinstance(response, (bytes, bytearray, memoryview)):
        found = _shapes.sniff(bytes(response), last=True) or "text" if source == "auto" else source
        return _loads(one.completion(response, found, **given))  # type: ignore[arg-type]
    shape = _shapes.source_of(response)
    if _shapes.is_error(response) and source not in ("auto", "text"):
        shape = source
    if shape is None or source not in ("auto", shape):
        raise TypeError(f"not a response of a client: {type(response).__name__}; a stream is for to_openai()")
    if shape == "openai":
        return _loads(one.completion(_shapes.text(response), "openai", **given))
    told = _told(response)
    told = {**told, "model": model or told.get("model"), **options}
    body = _shapes.document(shape, response) + _shapes.END[shape]
    return _loads(one.completion(body, shape, **told))  # type: ignore[arg-type]


def _loads(text: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(text)
    return made


def _iter(stream: Any) -> Iterator[Any]:
    if hasattr(stream, "__aiter__") or inspect.isawaitable(stream):
        raise TypeError("an asynchronous stream is for aevents() and ato_openai()")
    whole = isinstance(stream, (str, bytes, bytearray, memoryview)) or _shapes.is_response(stream)
    return iter([stream] if whole else stream)


async def _aiter(stream: Any) -> AsyncGenerator[Any, None]:
    """The items of a stream, which is closed if they are left early."""
    if inspect.isawaitable(stream):
        stream = await stream
    if not hasattr(stream, "__aiter__"):
        for item in _iter(stream):
            yield item
        return
    items = aiter(stream)
    try:
        async for item in items:
            yield item
    except BaseException:
        # A loop that ends early, and a generator that is closed, leave open what they read from.
        await _closed(items)
        await _closed(stream)
        raise


async def _closed(stream: Any) -> None:
    """Closes a stream, which may own a connection."""
    close = getattr(stream, "aclose", None) or getattr(stream, "close", None)
    with contextlib.suppress(Exception):
        done = close() if callable(close) else None
        if inspect.isawaitable(done):
            await done
