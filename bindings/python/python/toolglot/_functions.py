"""Functions for whole texts. Each takes an `engine`, or makes one from `dialects`; equal engines are compiled once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar

from . import _native, _support
from ._native import Call, CallClose, Engine, Turn

_Text = TypeVar("_Text", str, bytes)


def engine_of(engine: Engine | None, dialects: str | Iterable[str] | None) -> Engine:
    """The given engine, or one made from `dialects`."""
    if engine is None:
        return Engine(dialects)
    if dialects is not None:
        raise TypeError("give an engine or dialects, not both")
    return engine


def parse(
    text: str | bytes | bytearray | memoryview,
    *,
    engine: Engine | None = None,
    dialects: str | Iterable[str] | None = None,
    tools: str | Iterable[Any] | None = None,
    finish: Literal["stop", "length", "tool_calls", "error", "cancelled"] = "stop",
    native_calls: str | Iterable[Any] | None = None,
    original: bool = False,
) -> Turn:
    """Parses a whole output. `original` keeps everything the model wrote, markup included, as `Turn.original`.

    >>> import toolglot
    >>> turn = toolglot.parse("<think>hm</think>42", dialects="reasoning-think")
    >>> turn.reasoning, turn.text
    ('hm', '42')
    """
    one = engine_of(engine, dialects)
    return one.parse(text, finish=finish, native_calls=native_calls, tools=tools, original=original)


def escape(text: _Text, *, engine: Engine | None = None, dialects: str | Iterable[str] | None = None) -> _Text:
    """Makes untrusted text safe to put into a prompt or a tool result: no dialect of the engine sees a marker in it.

    Inserts a backslash after the first character of each marker; `unescape` removes it. Text without markers is returned
    unchanged. Returns the type that was given, `str` or `bytes`.

    >>> import toolglot
    >>> print(toolglot.escape('(see <tool_call name="f">)'))
    (see <\\tool_call name="f">)
    >>> print(toolglot.unescape(toolglot.escape('(see <tool_call name="f">)')))
    (see <tool_call name="f">)
    """
    return _native.escape(engine_of(engine, dialects), text)  # type: ignore[return-value]


def unescape(text: _Text, *, engine: Engine | None = None, dialects: str | Iterable[str] | None = None) -> _Text:
    """Returns the text from which `escape` made this one."""
    return _native.unescape(engine_of(engine, dialects), text)  # type: ignore[return-value]


def mask(
    text: str | bytes | bytearray | memoryview,
    *,
    calls: bool | str = False,
    reasoning: bool | str = True,
    protected: bool | str = True,
    engine: Engine | None = None,
    dialects: str | Iterable[str] | None = None,
) -> str:
    """Removes or replaces calls in a text, and other parts on request. `Mask` documents the options, and does the same live.

    >>> import toolglot
    >>> toolglot.mask('Now: <tool_call name="f"><param name="a">1</param></tool_call> done.', calls="[{tools}]")
    'Now: [f] done.'
    """
    one = _native.Mask(engine_of(engine, dialects), calls=calls, reasoning=reasoning, protected=protected)
    return one.feed(text) + one.finish()


def encode(
    calls: Any,
    dialect: str,
    *,
    engine: Engine | None = None,
    tools: str | Iterable[Any] | None = None,
    verify: bool = True,
) -> str:
    """Writes calls as text of a dialect: the inverse of parsing.

    A call is a `Call` or `CallClose`, a pair `(name, arguments)`, a mapping with `name` and `arguments`, or an OpenAI tool call;
    arguments are a mapping or JSON text. `calls` is one call or several. Where a dialect writes untyped text, `tools` say
    which values are not strings. `verify` parses the result and compares it with the calls.

    Raises `EncodeError` for a call that the dialect cannot express; the message names the value and the rule.

    >>> import toolglot
    >>> print(toolglot.encode(("weather", {"city": "Leith"}), "tool-call-xml"))
    <tool_call name="weather">
    <param name="city">Leith</param>
    </tool_call>
    """
    one = engine_of(engine, dialect if engine is None else None)
    if engine is None:
        dialect = one.dialects[0]
    return _native.encode(one, dialect, list(_calls(calls)), _json(tools), verify)


def transcode(
    text: _Text,
    to: str,
    *,
    engine: Engine | None = None,
    dialects: str | Iterable[str] | None = None,
    to_engine: Engine | None = None,
    tools: str | Iterable[Any] | None = None,
    keep: bool = False,
    finish: Literal["stop", "length", "tool_calls", "error", "cancelled"] = "stop",
) -> _Text:
    """Rewrites a transcript in the dialect `to`: text stays, calls are rewritten in place.

    Raises `EncodeError` for what cannot be written; with `keep` it stays as it is.

    >>> import toolglot
    >>> toolglot.transcode('Hi <tool_call name="f"><param name="a">1</param></tool_call>', "hermes")
    'Hi <tool_call>{"name":"f","arguments":{"a":"1"}}</tool_call>'
    """
    source = engine_of(engine, dialects)
    target = engine_of(to_engine, to if to_engine is None else None)
    if to_engine is None:
        to = target.dialects[0]
    return _native.transcode(source, text, target, to, _json(tools), keep, finish)  # type: ignore[return-value]


def _json(tools: str | Iterable[Any] | None) -> str | None:
    return None if tools is None else _support.tools_json(tools)


def _calls(calls: Any) -> Iterable[tuple[str, str, str | None]]:
    """Calls of any accepted shape, as `(name, arguments as JSON, id)`."""
    if isinstance(calls, (Call, CallClose, Mapping)) or hasattr(calls, "function") or _is_pair(calls):
        calls = [calls]
    for index, call in enumerate(calls):
        yield _call(index, call)


def _is_pair(call: Any) -> bool:
    return isinstance(call, tuple) and len(call) == 2 and isinstance(call[0], str)


def _call(index: int, call: Any) -> tuple[str, str, str | None]:
    if isinstance(call, Call):
        return call.name, call.arguments_json, call.meta.get("id")
    if isinstance(call, CallClose):
        if call.arguments_json is None:
            raise ValueError(f'calls[{index}]: its arguments were not kept (retain="none")')
        return call.name, call.arguments_json, None
    identity = None
    if _is_pair(call):
        name, arguments = call
    else:
        identity = _member(call, "id")
        inner = _member(call, "function") or call
        name, arguments = _member(inner, "name"), _member(inner, "arguments")
    if not isinstance(name, str):
        raise TypeError(f"calls[{index}]: a Call, (name, arguments), a mapping with both or a tool call is needed")
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, str):
        arguments = _support.dumps(f"calls[{index}].arguments", arguments)
    return name, arguments, identity


def _member(thing: Any, name: str) -> Any:
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
