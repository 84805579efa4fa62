"""What the plug-ins for inference servers share: names, engines, and deltas of one model output."""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import json
import logging
import re
import sys
import threading
import uuid
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ._errors import ToolglotError
from ._functions import encode
from ._native import Dialect, Engine, Issue, Protected, Reasoning, Text, dialect_toml, dialects
from ._types import Event

PREFIX = "toolglot"

# Modules in which vLLM has kept its parser classes, newest first.
VLLM_PROTOCOL = ("vllm.entrypoints.generate.base.protocol", "vllm.entrypoints.openai.engine.protocol", "vllm.entrypoints.openai.protocol")
VLLM_TOOLS = ("vllm.tool_parsers.abstract_tool_parser", "vllm.entrypoints.openai.tool_parsers.abstract_tool_parser")
VLLM_REASONING = ("vllm.reasoning.abs_reasoning_parsers", "vllm.reasoning")

if TYPE_CHECKING:

    class Unseen:
        """A class of a server, as type checkers see it: they rarely see the server, and from an unknown class only unknown ones derive."""

        def __init__(self, *arguments: Any, **options: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...


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


def vllm_reasoning_names() -> list[tuple[str, Thoughts]]:
    """The names of the reasoning parsers, each with what it reads."""
    found = dialects()
    return [(PREFIX, Thoughts(_think(found), ("default",))), *((name, reasoning_of(dialect, found)) for name, dialect in names())]


class Thoughts(NamedTuple):
    """Where reasoning begins and ends in an output."""

    markers: Dialect
    """The dialect of its markers."""
    calls: tuple[str, ...] = ()
    """Other dialects, whose calls may end it."""

    def engine(self) -> Engine:
        """An engine that reads both."""
        return Engine([self.markers.id, *self.calls])

    def call_openers(self) -> tuple[str, ...]:
        """The markers of calls that end an open thought; empty if none does."""
        return _call_openers((self.markers.id, *self.calls))

    def turn_openers(self) -> tuple[str, ...]:
        """The markers that begin the model's turn in a prompt."""
        return _turn_openers((self.markers.id, *self.calls))


@functools.cache
def _call_openers(ids: tuple[str, ...]) -> tuple[str, ...]:
    # The engine decides, not the file: it knows which call counts.
    openers = []
    engine = Engine(ids)
    for dialect in dialects(engine):
        with contextlib.suppress(ToolglotError):
            call = encode(("toolglot_probe", {"a": "b"}), dialect.id, engine=engine)
            if engine.parse(f"x\n{call}", start="reasoning").calls:
                openers += [opener for opener in dialect.openers if call.startswith(opener)]
    return tuple(dict.fromkeys(openers))


@functools.cache
def _turn_openers(ids: tuple[str, ...]) -> tuple[str, ...]:
    lists = [re.search(r"^turn = (\[.*?\])$", dialect_toml(one.id), re.MULTILINE | re.DOTALL) for one in dialects(Engine(ids))]
    return tuple(dict.fromkeys(opener for found in lists if found for opener in ast.literal_eval(found[1])))


def _think(found: list[Dialect]) -> Dialect:
    """The dialect of the most common markers of reasoning."""
    return next(dialect for dialect in found if dialect.reasoning_closers and is_reasoning(dialect))


def reasoning_of(dialect: Dialect, found: list[Dialect]) -> Thoughts:
    """A dialect reads its own reasoning, with its own rules. Of one that has none, the most common markers are read."""
    # The channels of messages have no markers of their own.
    channels = any(one.id == f"reasoning-{dialect.id}" for one in found)
    if is_reasoning(dialect) or dialect.reasoning_openers or channels:
        return Thoughts(dialect)
    return Thoughts(_think(found), (dialect.id,))


class Thought:
    """The reasoning at the beginning of one output, as deltas. Whatever follows its end is content, byte for byte as the model
    wrote it: a parser of calls comes next. Keeps only what is still undecided.
    """

    def __init__(self, engine: Engine, markers: Dialect, start: Any = None, prompt: str | None = None) -> None:
        """`start`, `prompt`: whether the prompt has opened the thought."""
        self._stream = engine.stream(start=start, prompt_tail=prompt)
        self._markers = markers
        self._waiting = b""
        self._at = 0
        self.began = self._stream.in_reasoning
        """Whether there is or was a thought."""
        self.ended = False
        """Whether the rest of the output is content."""
        self.interrupted = False
        """Whether a call has ended it, so that its closer may still come."""

    def feed(self, text: str) -> tuple[str, str]:
        """Takes the next text; returns reasoning and content."""
        if self.ended:
            return "", text
        self._waiting += text.encode("utf-8", "replace")
        reasoning, content = self._read(self._stream.feed(text))
        # A thought may also end at a marker that is part of what follows.
        if self.began and self._markers.reasoning_closers and not self._stream.in_reasoning:
            self.ended = True
        return reasoning, content + (self._rest() if self.ended else "")

    def finish(self) -> tuple[str, str]:
        """Ends the output."""
        if self.ended:
            return "", ""
        reasoning, content = self._read(self._stream.finish())
        self.ended = True
        return reasoning, content + self._rest()

    def _read(self, events: list[Event]) -> tuple[str, str]:
        reasoning = content = ""
        for event in events:
            match event:
                case Issue():
                    continue
                case Reasoning(text, framing=False):
                    reasoning += text
                    self.began = True
                    self._drop(event.end)
                case Reasoning(text):
                    self.began = True
                    self._drop(event.end)
                    self.ended = self._closes(text)
                case Text(text) if text.isspace():
                    self._drop(event.start)
                    content += self._take(event.end)
                # The header of a message: a call may need it, text does not.
                case Protected(kind="framing") if not (self.began and self._markers.reasoning_closers):
                    continue
                case Text():
                    self._drop(event.start)
                    self.ended = True
                case _:
                    self.ended = True
                    self.interrupted = self.began and bool(self._markers.reasoning_closers)
            if self.ended:
                break
        return reasoning, content

    def _closes(self, marker: str) -> bool:
        """Whether a marker of reasoning closes it: it may have a suffix or blanks that the dialect's file does not have."""
        bare = "".join(marker.split())
        fits = [any(bare.startswith("".join(one.split()).rstrip(">")) for one in markers) for markers in self._both()]
        return fits == [False, True]

    def _both(self) -> tuple[list[str], list[str]]:
        return self._markers.reasoning_openers, self._markers.reasoning_closers

    def _take(self, end: int) -> str:
        """What waits up to an offset in the output."""
        count = max(0, end - self._at)
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        self._at += len(taken)
        return taken.decode("utf-8", "replace")

    def _drop(self, end: int) -> None:
        self._take(end)

    def _rest(self) -> str:
        return self._take(self._at + len(self._waiting))


class Delta(NamedTuple):
    """The result of one step: text, and pieces of calls in OpenAI's form, at most one per call."""

    content: str
    calls: list[dict[str, Any]]
    told: dict[str, Any] | None = None
    """The calls that are withheld and the blocks that are dropped, if any: the member `toolglot` of OpenAI's form."""
    last: int = 0
    """The index of the last call of which something was sent."""


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


def check(options: dict[str, Any], calls: str) -> None:
    """Raises an error for options that no parser can use."""
    engine_of(options).rewriter(calls=cast(Any, calls))


# A server hands the content from the reasoning parser to the parser of calls as text alone, in one step of one thread. That a
# call has ended the thought is kept for that step: the thought's closer, if it still comes, is no text.
_interrupted = threading.local()


def hand_over(content: str) -> None:
    """Tells the parser of calls that gets this content that it interrupts a thought."""
    _interrupted.content = content


def interrupts(content: str) -> bool:
    """Whether this content, the first that a parser of calls gets, interrupts a thought."""
    handed: str | None = _interrupted.__dict__.pop("content", None)
    return handed is not None and handed == content


def interrupting_engine(options: dict[str, Any]) -> Engine:
    """An engine that reads calls, and what follows them, in an interrupted thought."""
    given = {"reasoning": "text", "start": "reasoning", **options}
    engine = engine_of(given)
    ids = engine.dialects
    if any(dialect.reasoning_closers for dialect in dialects(engine)) or "toml" in options:
        return engine
    return engine_of({**given, "dialects": [_think(dialects()).id, *ids]})


def tools_of(tools: Any) -> list[Any] | None:
    """The function tools of a request, or `None` if there are none."""
    found = [tool for tool in tools or () if getattr(tool, "type", "function") == "function"]
    return found or None


class Live:
    """One model output, as deltas. Keeps only what is still undecided."""

    def __init__(self, engine: Engine, tools: Any, recovered: bool, prompt: str | None = None, calls: Any = "live") -> None:
        """`recovered`: deliver recovered calls too. `prompt`: the end of the prompt, if the server shows it. `calls`: `"close"` to
        send a call only when it is final.
        """
        given: dict[str, Any] = {"recovered": recovered, "tools": tools_of(tools), "prompt_tail": prompt, "calls": calls}
        self._rewriter = engine.rewriter(reasoning=None, id_seed=_seed(), **given)
        self._finished = False
        self._last = 0

    def feed(self, text: str) -> Delta:
        """Takes the next text."""
        # Some servers send text after the end; it can only be plain text.
        return Delta(text, []) if self._finished else self._delta(self._rewriter.feed(text))

    def finish(self) -> Delta:
        """Ends the output."""
        if self._finished:
            return Delta("", [])
        self._finished = True
        return self._delta(self._rewriter.finish())

    def _delta(self, lines: list[str]) -> Delta:
        delta = _delta(lines)
        self._last = max([self._last, *(call["index"] for call in delta.calls)])
        warn(delta.told)
        return delta._replace(last=self._last)


def _delta(lines: list[str]) -> Delta:
    content = []
    calls: dict[int, dict[str, Any]] = {}
    told = None
    for line in lines:
        chunk = json.loads(line)
        told = chunk.get("toolglot") or told
        for choice in chunk["choices"]:
            delta = choice["delta"]
            content.append(delta.get("content") or "")
            for piece in delta.get("tool_calls", ()):
                call = calls.setdefault(piece["index"], {"index": piece["index"], "id": None, "name": None, "arguments": ""})
                function = piece["function"]
                call["id"] = piece.get("id") or call["id"]
                call["name"] = function.get("name") or call["name"]
                call["arguments"] += function.get("arguments", "")
    return Delta("".join(content), list(calls.values()), told)


def whole(engine: Engine, text: str, tools: Any, recovered: bool, prompt: str | None = None) -> Delta:
    """A whole output, the same as `Live` gives it, each call in one piece."""
    given: dict[str, Any] = {"recovered": recovered, "tools": tools_of(tools), "prompt_tail": prompt}
    completion = json.loads(engine.completion(text, reasoning=None, id_seed=_seed(), **given))
    message, told = completion["choices"][0]["message"], completion.get("toolglot")
    warn(told)
    calls = [
        {"index": at, "id": call["id"], "name": call["function"]["name"], "arguments": call["function"]["arguments"]}
        for at, call in enumerate(message.get("tool_calls", []))
    ]
    return Delta(message.get("content") or "", calls, told)


def warn(told: dict[str, Any] | None) -> None:
    """Logs what an output lacks: not every type of the servers can say it to the client. Names and kinds, no arguments."""
    if told is None:
        return
    log = logging.getLogger("toolglot")
    for call in told.get("withheld", ()):
        log.warning("the model's call of %s is withheld: %s", call["name"], ", ".join(call["kinds"]))
    for block in told.get("dropped", ()):
        start, end = block["span"]
        log.warning("%d bytes of the model's output are dropped: %s", end - start, ", ".join(block["kinds"]))


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
