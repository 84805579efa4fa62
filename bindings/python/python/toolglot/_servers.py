"""What the plug-ins for inference servers have in common: names, engines, and deltas of one model output."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

from ._native import Call, Dialect, Engine, dialects

PREFIX = "toolglot"


class Delta(NamedTuple):
    """What one step brings: text, and pieces of calls, as OpenAI has them, at most one for each call."""

    content: str
    calls: list[dict[str, Any]]


def name_of(dialect: str) -> str:
    """The name of a dialect in a server: `toolglot_qwen3_coder`."""
    return f"{PREFIX}_{re.sub(r'[^a-z0-9]+', '_', dialect.lower())}"


def names() -> Iterator[tuple[str, Dialect]]:
    """Every built-in dialect with each of its names in a server."""
    seen = set()
    found = dialects()
    own = [(dialect.id, dialect) for dialect in found]
    other = [(alias, dialect) for dialect in found for alias in dialect.aliases]
    for given, dialect in own + other:
        name = name_of(given)
        if name not in seen:
            seen.add(name)
            yield name, dialect


def is_reasoning(dialect: Dialect) -> bool:
    """Whether it reads reasoning and no calls."""
    return dialect.id.startswith("reasoning-")


def engine_of(options: dict[str, Any]) -> Engine:
    """An engine that reads calls. Reasoning is the business of the server's reasoning parser, which comes first."""
    return Engine(**{"reasoning": "off", **options})


def tools_of(tools: Any) -> list[Any] | None:
    """The function tools of a request; none is `None`."""
    found = [tool for tool in tools or () if getattr(tool, "type", "function") == "function"]
    return found or None


class Live:
    """One model output, as deltas. Nothing is kept of it but what waits to be decided."""

    def __init__(self, engine: Engine, tools: Any, recovered: bool, prompt: str | None = None) -> None:
        """`recovered`: mended calls are delivered too. `prompt`: its end, where the server shows it."""
        seed = uuid.uuid4().int >> 64
        given: dict[str, Any] = {"recovered": recovered, "tools": tools_of(tools), "prompt_tail": prompt}
        self._rewriter = engine.rewriter(reasoning=None, id_seed=seed, **given)
        self._finished = False

    def feed(self, text: str) -> Delta:
        """Takes the next text."""
        # Some servers give text behind the end; it can only be text.
        return Delta(text, []) if self._finished else _delta(self._rewriter.feed(text))

    def finish(self) -> Delta:
        """The output is at its end."""
        if self._finished:
            return Delta("", [])
        self._finished = True
        return _delta(self._rewriter.finish())


def _delta(lines: list[str]) -> Delta:
    content = []
    calls: dict[int, dict[str, Any]] = {}
    for line in lines:
        for choice in json.loads(line)["choices"]:
            delta = choice["delta"]
            content.append(delta.get("content") or "")
            for piece in delta.get("tool_calls", ()):
                call = calls.setdefault(piece["index"], {"index": piece["index"], "id": None, "name": None, "arguments": ""})
                function = piece["function"]
                call["id"] = piece.get("id") or call["id"]
                call["name"] = function.get("name") or call["name"]
                call["arguments"] += function.get("arguments", "")
    return Delta("".join(content), list(calls.values()))


def whole(engine: Engine, text: str, tools: Any, recovered: bool, prompt: str | None = None) -> tuple[str, list[Call]]:
    """Text and calls of a whole output."""
    turn = engine.parse(text, tools=tools_of(tools), prompt_tail=prompt)
    return turn.text, [call for call in turn.calls if recovered or call.grade != "recovered"]
