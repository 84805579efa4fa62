"""Turns Python objects into the JSON that the native part reads. The native part calls these functions."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Mapping
from typing import Any


def fresh(seed: int | None) -> tuple[str, int, int]:
    """Id and time of a response, and the seed of its call ids; a missing seed is generated."""
    own = uuid.uuid4().int >> 64 if seed is None else seed
    name = uuid.uuid4().hex if seed is None else f"{seed:016x}"
    return f"chatcmpl-{name}", int(time.time()), own


def call_id() -> str:
    """Returns a new id for a call."""
    return f"call_{uuid.uuid4().hex[:24]}"


def plain(value: Any) -> Any:
    """Makes a value that `json.dumps` rejects acceptable: mappings, models with `model_dump`, other iterables,
    objects with attributes.
    """
    if isinstance(value, Mapping):
        return dict(value)
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(exclude_none=True)
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray, memoryview)):
        return list(value)
    members = getattr(value, "__dict__", None)
    if members is not None and not isinstance(value, type):
        return {name: inner for name, inner in members.items() if not name.startswith("_")}
    raise TypeError(f"{type(value).__name__} cannot be expressed in JSON")


def dumps(what: str, value: Any) -> str:
    """`value` as JSON text; `what` names it in the error."""
    try:
        return json.dumps(value, default=plain, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what}: {error}") from None


def utf8(text: str) -> str:
    """Replaces lone surrogates, which UTF-8 cannot encode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def tools_json(tools: Any) -> str:
    """Tools as JSON text: text is passed through, anything else is serialised."""
    if isinstance(tools, str):
        return tools
    if isinstance(tools, (bytes, bytearray, Mapping)) or not isinstance(tools, Iterable):
        raise TypeError(f"tools: a list of tools or its JSON text is needed, not {type(tools).__name__}")
    return dumps("tools", list(tools))


def messages_json(messages: Any) -> str:
    """Messages in OpenAI's form as JSON text."""
    if isinstance(messages, (str, bytes, bytearray, Mapping)) or not isinstance(messages, Iterable):
        raise TypeError(f"messages: a list of messages is needed, not {type(messages).__name__}")
    return dumps("messages", list(messages))


def native_json(calls: Any) -> str:
    """API tool calls, an OpenAI `tool_calls` array, as JSON text."""
    if isinstance(calls, str):
        return calls
    if isinstance(calls, (bytes, bytearray, Mapping)) or not isinstance(calls, Iterable):
        raise TypeError(f"native_calls: a tool_calls array or its JSON text is needed, not {type(calls).__name__}")
    return dumps("native_calls", list(calls))
