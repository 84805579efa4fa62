"""What the plug-ins for inference servers share: names, engines, and deltas of one model output."""

from __future__ import annotations

import importlib
import json
import logging
import re
import sys
import uuid
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

from ._errors import ToolglotError
from ._functions import encode
from ._native import Dialect, Engine, dialects

PREFIX = "toolglot"

# Modules in which vLLM has kept its parser classes, newest first.
VLLM_PROTOCOL = ("vllm.entrypoints.generate.base.protocol", "vllm.entrypoints.openai.engine.protocol", "vllm.entrypoints.openai.protocol")
VLLM_TOOLS = ("vllm.tool_parsers.abstract_tool_parser", "vllm.entrypoints.openai.tool_parsers.abstract_tool_parser")
VLLM_REASONING = ("vllm.reasoning.abs_reasoning_parsers", "vllm.reasoning")


def first(server: str, *modules: str) -> ModuleType:
    """Imports the first of these modules that the server has. Its interfaces have moved between versions."""
    for name in modules:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            # A module that exists but lacks a dependency is the server's problem, not a different version.
            if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
                raise
    package = modules[0].split(".")[0]
    if package not in sys.modules:
        raise ModuleNotFoundError(f"{server} is not installed here", name=package)
    raise ImportError(f"this {server} has none of {', '.join(modules)}: toolglot knows the versions that docs/PYTHON.md lists")


def vllm_setup() -> None:
    """Registers the parsers with vLLM; they are imported on first use. vLLM calls this in each of its processes."""
    try:
        tools = first("vLLM", *VLLM_TOOLS).ToolParserManager
        reasoning = first("vLLM", *VLLM_REASONING).ReasoningParserManager
    except ImportError as error:
        # A user who has both installed may want neither of these parsers.
        logging.getLogger(__name__).warning("toolglot has no parsers for this server: %s", error)
        return
    for name in vllm_tool_names():
        tools.register_lazy_module(name, "toolglot.vllm", f"ToolglotToolParser_{name}")
    for name, _ in vllm_reasoning_names():
        reasoning.register_lazy_module(name, "toolglot.vllm", f"ToolglotReasoningParser_{name}")


def vllm_tool_names() -> list[str]:
    """The names of the tool parsers."""
    return [PREFIX, *(name for name, dialect in names() if not is_reasoning(dialect))]


def vllm_reasoning_names() -> list[tuple[str, Dialect]]:
    """The names of the reasoning parsers, each with the dialect of its reasoning."""
    found = dialects()
    think = next(dialect for dialect in found if dialect.reasoning_closers and is_reasoning(dialect))
    return [(PREFIX, think), *((name, reasoning_of(dialect, found)) for name, dialect in names())]


def reasoning_of(dialect: Dialect, found: list[Dialect]) -> Dialect:
    """The dialect of its reasoning: itself, another one with the same markers, or the most common one."""
    if is_reasoning(dialect):
        return dialect
    plain = [one for one in found if is_reasoning(one)]
    if dialect.reasoning_openers:
        own = dialect.reasoning_openers[:1], dialect.reasoning_closers[:1]
        same = (one for one in plain if (one.reasoning_openers[:1], one.reasoning_closers[:1]) == own)
        return next(same, dialect)
    # Message formats with a reasoning channel: listed by name, since the channel has no markers of its own.
    named = (one for one in plain if one.id == f"reasoning-{dialect.id}")
    return next(named, next(one for one in plain if one.reasoning_closers))


def reasoning_engine(dialect: Dialect) -> Engine:
    """An engine that reads this reasoning and nothing else."""
    if is_reasoning(dialect):
        return Engine(dialect.id)
    text = json.dumps
    lines = [
        f"id = {text('reasoning-of-' + dialect.id)}",
        f"title = {text(dialect.title)}",
        'deltas = "live"',
        "[[reasoning]]",
        f"open = {text(dialect.reasoning_openers)}",
        f"close = {text(dialect.reasoning_closers)}",
        'at = "anywhere"',
    ]
    return Engine(toml="\n".join(lines))


class Delta(NamedTuple):
    """The result of one step: text, and pieces of calls in OpenAI's form, at most one per call."""

    content: str
    calls: list[dict[str, Any]]


def name_of(dialect: str) -> str:
    """The name of a dialect in a server, such as `toolglot_qwen3_coder`."""
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
    """Whether it reads reasoning but no calls."""
    return dialect.id.startswith("reasoning-")


def engine_of(options: dict[str, Any]) -> Engine:
    """An engine that reads calls. Reasoning is left to the server's reasoning parser, which runs first."""
    return Engine(**{"reasoning": "off", **options})


def tools_of(tools: Any) -> list[Any] | None:
    """The function tools of a request, or `None` if there are none."""
    found = [tool for tool in tools or () if getattr(tool, "type", "function") == "function"]
    return found or None


class Live:
    """One model output, as deltas. Keeps only what is still undecided."""

    def __init__(self, engine: Engine, tools: Any, recovered: bool, prompt: str | None = None) -> None:
        """`recovered`: deliver recovered calls too. `prompt`: the end of the prompt, if the server shows it."""
        given: dict[str, Any] = {"recovered": recovered, "tools": tools_of(tools), "prompt_tail": prompt}
        self._rewriter = engine.rewriter(reasoning=None, id_seed=_seed(), **given)
        self._finished = False

    def feed(self, text: str) -> Delta:
        """Takes the next text."""
        # Some servers send text after the end; it can only be plain text.
        return Delta(text, []) if self._finished else _delta(self._rewriter.feed(text))

    def finish(self) -> Delta:
        """Ends the output."""
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


def whole(engine: Engine, text: str, tools: Any, recovered: bool, prompt: str | None = None) -> tuple[str, list[dict[str, Any]]]:
    """Text and calls of a whole output, in OpenAI's form, the same as `Live` gives them."""
    given: dict[str, Any] = {"recovered": recovered, "tools": tools_of(tools), "prompt_tail": prompt}
    completion = engine.completion(text, reasoning=None, id_seed=_seed(), **given)
    message = json.loads(completion)["choices"][0]["message"]
    return message.get("content") or "", message.get("tool_calls", [])


def _seed() -> int:
    """A fresh seed, so that call ids differ between outputs."""
    return uuid.uuid4().int >> 64


class Wrapping(NamedTuple):
    """The text around the arguments of a call."""

    begin: str
    end: str
    trigger: str


_PROBE = {"toolglot_probe": "toolglot"}


def wrapping(engine: Engine, name: str) -> Wrapping | None:
    """What a dialect writes around the JSON of a call's arguments. `None` where the arguments are not a JSON object, or where
    the engine has several dialects: then nothing says which of them the model is to write.
    """
    ids = engine.dialects
    found = next((dialect for dialect in dialects(engine) if dialect.id in ids), None)
    if len(ids) != 1 or found is None:
        return None
    try:
        text = encode((name, _PROBE), ids[0], engine=engine)
    except ToolglotError:
        return None
    at = [match for match in re.finditer(r"\{\s*\"toolglot_probe\"\s*:\s*\"toolglot\"\s*\}", text)]
    if len(at) != 1:
        return None
    begin, end = text[: at[0].start()], text[at[0].end() :]
    trigger = max((opener for opener in found.openers if opener and begin.startswith(opener)), key=len, default="")
    return Wrapping(begin, end, trigger) if trigger else None
