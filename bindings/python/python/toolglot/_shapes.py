"""Recognises chunks of clients by their shape, and writes the part of their JSON that the native readers use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from . import _support

# A shape maps names of members to the shapes of their values; `None` is a plain value, a list holds items of a shape.
_PARTS = [{"type": None, "text": None, "refusal": None, "thinking": [{"type": None, "text": None}]}]
_FUNCTION = {"name": None, "arguments": None}
_MESSAGE = {
    "reasoning_content": None,
    "reasoning": None,
    "content": _PARTS,
    "refusal": None,
    "tool_calls": [{"index": None, "id": None, "function": _FUNCTION}],
    "function_call": _FUNCTION,
}
_ERROR = {"message": None, "type": None}
_BLOCK = {"type": None, "text": None, "thinking": None, "id": None, "name": None, "input": None}
_SHAPES: dict[str, dict[str, Any]] = {
    "openai": {
        "choices": [{"index": None, "text": None, "delta": _MESSAGE, "message": _MESSAGE, "finish_reason": None}],
        "error": _ERROR,
    },
    "anthropic": {
        "type": None,
        "index": None,
        "content_block": _BLOCK,
        "delta": {"type": None, "text": None, "thinking": None, "partial_json": None, "stop_reason": None},
        "content": [_BLOCK],
        "stop_reason": None,
        "error": _ERROR,
    },
    "ollama": {
        "message": {"content": None, "thinking": None, "tool_calls": [{"id": None, "function": _FUNCTION}]},
        "response": None,
        "thinking": None,
        "done": None,
        "done_reason": None,
        "error": None,
    },
}

# What a client does not pass on when a response ends.
END = {
    "openai": b"data: [DONE]\n\n",
    "anthropic": b'data: {"type":"message_stop"}\n\n',
    "ollama": b'{"done":true}\n',
}


def member(thing: Any, name: str) -> Any:
    """An attribute, or an item of a mapping; `None` if it is missing."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


# Members that hold an error message where there is no response.
_WORDS = ("message", "msg", "error_message", "error_msg", "error_description", "detail", "title", "reason")


def is_error(item: Any) -> bool:
    """Whether this is an error that a server sends in place of a response, or of its next part."""
    if isinstance(member(item, "choices"), (list, tuple)):
        return False
    if member(item, "object") == "error" or member(item, "type") == "error":
        return True
    if not isinstance(item, Mapping):
        return False
    if item.get("error") not in (None, False) or item.get("detail") is not None or item.get("errors"):
        return True
    known = any(item.get(name) is not None for name in ("response", "done"))
    return not known and any(isinstance(item.get(name), str) for name in _WORDS)


def source_of(item: Any) -> str | None:
    """The API that an object or dict comes from."""
    kind = member(item, "type")
    if is_error(item):
        return "anthropic" if kind == "error" else "openai"
    if isinstance(member(item, "choices"), (list, tuple)):
        return "openai"
    if isinstance(kind, str) and not kind.startswith("response."):
        return "anthropic"
    if any(member(item, name) is not None for name in ("message", "response", "done")):
        return "ollama"
    return None


def is_response(item: Any) -> bool:
    """Whether this is a single response or chunk, not a stream of them. (Client models can be iterable too.)"""
    if isinstance(item, Mapping):
        return True
    if hasattr(item, "__next__") or isinstance(item, (list, tuple)):
        return False
    return source_of(item) is not None


def document(source: str, item: Any) -> bytes:
    """The chunk as the API would have sent it."""
    said = text(item) if is_error(item) else _support.dumps("chunk", _pick(item, _SHAPES[source]))
    body = said.encode("utf-8", "surrogatepass")
    return body + b"\n" if source == "ollama" else b"data: " + body + b"\n\n"


def text(item: Any) -> str:
    """The complete JSON of an object."""
    try:
        return _support.dumps("chunk", item)
    except TypeError:
        # Has the expected members but cannot be dumped: take the known members of its shape.
        return _support.dumps("chunk", _pick(item, _SHAPES["openai"]))


def whole(item: Any) -> bytes:
    """A chunk of an OpenAI client with all its members."""
    return b"data: " + text(item).encode("utf-8", "surrogatepass") + b"\n\n"


def _pick(thing: Any, shape: dict[str, Any]) -> dict[str, Any]:
    picked = {}
    for name, inner in shape.items():
        value = member(thing, name)
        if value is None:
            continue
        if isinstance(inner, list) and isinstance(value, (list, tuple)):
            value = [_pick(item, inner[0]) if not isinstance(item, str) else item for item in value]
        elif isinstance(inner, dict) and not isinstance(value, str):
            value = _pick(value, inner)
        picked[name] = value
    return picked


_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
_KEY = re.compile(rb'"(choices|type|error|message|response|done)"\s*:')
_EVENT = re.compile(rb"event:[ ]*(message_|content_block_|ping)")
_BY_KEY = {b"choices": "openai", b"error": "openai", b"type": "anthropic"}


def sniff(head: bytes, last: bool = False) -> str | None:
    """Guesses from the first bytes what they are: the body of an API's response, or text. `None` means that more bytes
    are needed.

    A body begins with a field of server-sent events or with `{`, and with members that identify the API. Looks at up to 4 KiB.
    """
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    undecided = None if not last and len(head) < 4096 else "text"
    sent = text.startswith(_FIELDS)
    if not sent and not text.startswith(b"{"):
        return undecided if not text or any(field.startswith(text) for field in _FIELDS) else "text"
    if sent and _EVENT.match(text):
        return "anthropic"
    found = _KEY.search(text)
    if found:
        return _BY_KEY.get(found[1], "openai" if sent else "ollama")
    return undecided
