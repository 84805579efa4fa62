"""What clients of model servers yield, into events or into chunks of an OpenAI response.

No client is imported: a chunk is told by its shape. Each is turned into the JSON of its API and read by the same native
code that reads responses as bytes, so that there is one definition of what a chunk says.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from . import _shapes
from ._native import Engine, Reader, Stream, Turn
from ._types import Event, Target

__all__ = ["Events", "aevents", "ato_openai", "events", "to_completion", "to_openai"]


def events(
    stream: Any,
    *,
    engine: Engine | None = None,
    source: str = "auto",
    choice: int = 0,
    tools: Any = None,
) -> Events:
    """The events of what a client yields.

    `stream` is an iterable of `str` (text), of chunks of an OpenAI, LiteLLM, Anthropic or Ollama client (objects or
    dicts), or of `bytes` (a response body, or its lines); or one response that is not streamed. `source` says what it is
    where that cannot be told: `"text"`, `"openai"`, `"anthropic"`, `"ollama"`.

    >>> import toolglot
    >>> chunk = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    >>> list(toolglot.events([chunk]))
    [Text(text='Hi', start=0, end=2, recovered=False)]
    """
    return Events(stream, Reading(engine or Engine(), source, choice, tools))


async def aevents(
    stream: Any,
    *,
    engine: Engine | None = None,
    source: str = "auto",
    choice: int = 0,
    tools: Any = None,
) -> AsyncIterator[Event]:
    """`events` of an asynchronous iterable (a coroutine that gives one will do).

    >>> import asyncio, toolglot
    >>> async def reply():
    ...     yield "Hi <tool"
    >>> async def main():
    ...     return [event.text async for event in toolglot.aevents(reply())]
    >>> asyncio.run(main())
    ['Hi ', '<tool']
    """
    feed = Reading(engine or Engine(), source, choice, tools)
    async for item in _aiter(stream):
        for event in feed.feed(item):
            yield event
    for event in feed.finish():
        yield event


class Events:
    """An iterator over events; `reason` and `errors` tell how the response ended.

    >>> import toolglot
    >>> found = toolglot.events([b'data: {"choices":[{"delta":{"content":"Hi"}}]}\\n\\n'])
    >>> [event.text for event in found], found.reason, found.errors
    (['Hi'], 'error', ['the response broke off before its end'])
    """

    def __init__(self, stream: Any, feed: Reading) -> None:
        """Made by `events`."""
        self._feed = feed
        self._events = self._run(stream)

    def _run(self, stream: Any) -> Iterator[Event]:
        for item in _iter(stream):
            yield from self._feed.feed(item)
        yield from self._feed.finish()

    def __iter__(self) -> Events:
        """Itself."""
        return self

    def __next__(self) -> Event:
        """The next event."""
        return next(self._events)

    @property
    def reason(self) -> str | None:
        """Why the response ended: `"stop"`, `"length"`, `"tool_calls"`, `"error"`, `"cancelled"`. `None` before the end."""
        return self._feed.reason

    @property
    def errors(self) -> list[str]:
        """What could not be read, one sentence each."""
        return self._feed.errors


def to_openai(
    stream: Any,
    *,
    model: str = "",
    engine: Engine | None = None,
    source: str = "auto",
    **options: Any,
) -> Iterator[dict[str, Any]]:
    """OpenAI chat completion chunks, as dicts, of what a client yields: for a gateway.

    Calls that the model wrote into its text become `tool_calls` deltas, and `finish_reason` becomes `tool_calls`. `stream`
    and `source` are those of `events`, `options` those of `Engine.rewriter`. Of a response of OpenAI's shape all else stays, as
    bytes and as objects: id, model, time, usage, `logprobs`, members that nobody knows, errors as they came; each choice is
    parsed on its own. What nobody says is made.

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
    """`to_openai` of an asynchronous iterable."""
    rewrite = Rewriting(engine or Engine(), source, model, options)
    async for item in _aiter(stream):
        for chunk in rewrite.feed(item):
            yield chunk
    for chunk in rewrite.finish():
        yield chunk


SOURCES = ("auto", "text", "openai", "anthropic", "ollama")


class Feed:
    """Turns items into what a native reader takes, once it is known what they are.

    `target` makes the reader of a source; it is opened at the first item that tells. Bytes may be pieces of a body or its
    lines without their ends; the second item shows which.
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
            # An error has no shape of its API: it is one of the API that the others come from.
            found = self._source
        if found is None or self._source not in (None, found):
            wanted = self._source or "text, bytes, or a chunk of an OpenAI, Anthropic, Ollama or LiteLLM client"
            raise TypeError(f"a chunk is no {wanted}: {type(item).__name__}; say source= if it is")
        self._source = found
        self._objects = True
        return self._give(self._document(found, item), item)

    def _document(self, found: str, item: Any) -> bytes:
        """The chunk as bytes of its API."""
        return _shapes.document(found, item)

    def finish(self) -> list[Any]:
        """The items are at their end."""
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
        """Bytes of a body, or of text if they do not look like one."""
        if self._lines is not None:
            return self._give(self._line(item) if self._lines else item)
        self._head.append(item)
        head = b"".join(self._head)
        self._source = self._source or _shapes.sniff(head)
        if self._source is None or not head:
            return []
        if self._source == "text" or b"\n" in head or b"\r" in head:
            return self._release(True)
        # One item without a line's end: the next one tells whether it is a line. A piece that is none is seldom JSON.
        if len(self._head) == 1:
            return []
        return self._release(not _is_line(next(filter(None, self._head))))

    def _release(self, raw: bool) -> list[Any]:
        """What waited, and all that follows, as it is or as lines."""
        self._lines = not raw
        items, self._head = self._head, []
        return self._give(b"".join(items) if raw else b"".join(map(self._line, items)))

    def _line(self, line: bytes) -> bytes:
        """A line with its end, and that of its event, which clients may leave out."""
        return line + (b"\n\n" if line.startswith(b"data:") else b"\n")


def _is_line(item: bytes) -> bool:
    """Whether this is a whole line of a body."""
    if item.startswith((b"event:", b"id:", b"retry:", b":")):
        return True
    try:
        json.loads(item.removeprefix(b"data:"))
    except ValueError:
        return item.removeprefix(b"data:").strip() == b"[DONE]"
    return True


class Reading(Feed):
    """Items into events."""

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
    """Items into chunks of an OpenAI response."""

    def __init__(self, engine: Engine, source: str, model: str, options: dict[str, Any]) -> None:
        def target(found: str, item: Any) -> Target:
            # A response of OpenAI's shape says these itself.
            told = {} if found == "openai" else _told(item)
            return engine.rewriter(found, **{**told, "model": model or told.get("model"), **options})  # type: ignore[arg-type]

        super().__init__(source, target)

    def _document(self, found: str, item: Any) -> bytes:
        """The chunk with all its members: what is not rewritten stays."""
        return _shapes.whole(item) if found == "openai" else super()._document(found, item)

    def feed(self, item: Any) -> list[Any]:
        return [json.loads(line) for line in super().feed(item)]

    def finish(self) -> list[Any]:
        return [line if isinstance(line, dict) else json.loads(line) for line in super().finish()]


def _told(item: Any) -> dict[str, Any]:
    """What a chunk of another API says of its response."""
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
    """One OpenAI chat completion, as a dict: of a model's output, or of a response that is not streamed.

    `response` is text, a `Turn`, a response of an OpenAI, LiteLLM, Anthropic or Ollama client (object or dict), or its bytes.
    Calls that the model wrote into its text become `tool_calls`, of each choice for itself; all else of a response of OpenAI's
    shape stays. `options` are those of `Engine.completion`.

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
        raise TypeError(f"this is no response of a client: {type(response).__name__}; a stream is for to_openai()")
    if shape == "openai":
        return _loads(one.completion(_shapes.text(response), "openai", **given))
    told = {**_told(response), **{key: value for key, value in given.items() if value}}
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


async def _aiter(stream: Any) -> AsyncIterator[Any]:
    if inspect.isawaitable(stream):
        stream = await stream
    if hasattr(stream, "__aiter__"):
        async for item in stream:
            yield item
    else:
        for item in _iter(stream):
            yield item
