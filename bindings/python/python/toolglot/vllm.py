"""Tool and reasoning parsers for vLLM: every built-in dialect by name.

    vllm serve MODEL --enable-auto-tool-choice --tool-call-parser toolglot_qwen3_coder
    vllm serve MODEL --reasoning-parser toolglot_qwen3_coder ...

vLLM finds them through the entry point of the package (`vllm.general_plugins`); no flag is needed. `toolglot` is the default
set of dialects. For a dialect of your own, write a plug-in that calls `register`. Each delta is read once; the history is
neither kept nor read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from . import _servers
from ._native import Dialect

_protocol: Any = _servers.first("vLLM", *_servers.VLLM_PROTOCOL)
_tools: Any = _servers.first("vLLM", *_servers.VLLM_TOOLS)
_reasoning: Any = _servers.first("vLLM", *_servers.VLLM_REASONING)
if TYPE_CHECKING:
    _ToolParser = _servers.Unseen
    _ReasoningParser = _servers.Unseen
else:
    _ToolParser = _tools.ToolParser
    _ReasoningParser = _reasoning.ReasoningParser

__all__ = ["ToolglotReasoningParser", "ToolglotToolParser", "register"]


class ToolglotToolParser(_ToolParser):
    """Parses the calls of one output. Subclasses choose the dialects in `options`, as `Engine` takes them."""

    # Deltas come without the preceding text.
    engine_based_streaming = True
    options: ClassVar[dict[str, Any]] = {}
    recovered: ClassVar[bool] = False
    """Whether to deliver recovered calls too."""
    calls: ClassVar[str] = "live"
    """`"live"` to send a call while it is written, `"close"` only when it is final."""

    def __init__(self, tokenizer: Any, tools: Any = None) -> None:
        super().__init__(tokenizer, tools)
        self._engine = _servers.engine_of(self.options)
        self._live: _servers.Live | None = None
        self._prompt: str | None = None

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        """Tells the parser what the end of the prompt has opened; the output continues it."""
        self._prompt = _tail(self.model_tokenizer, prompt_token_ids)

    adjust_initial_state_from_prompt = set_prompt_token_ids

    def adjust_request(self, request: Any) -> Any:
        """Makes the server keep markers in the text."""
        if request is None:
            return None
        request = super().adjust_request(request)  # type: ignore[misc]
        if getattr(request, "tools", None) and getattr(request, "tool_choice", None) != "none":
            request.skip_special_tokens = False
        return request

    def _continue(self, text: str) -> None:
        """If the text interrupts a thought, it is read as what follows in that thought."""
        if _servers.interrupts(text):
            self._engine = _servers.interrupting_engine(self.options)

    def _offered(self, request: Any) -> Any:
        """The declared tools; some callers have no request."""
        return getattr(request, "tools", None) or getattr(self, "tools", None)

    def extract_tool_calls(self, model_output: str, request: Any) -> Any:
        """Parses a whole output."""
        self._continue(model_output)
        found = _servers.whole(self._engine, model_output, self._offered(request), self.recovered, self._prompt)
        made = []
        for call in found.calls:
            function = _protocol.FunctionCall(id=call["id"], name=call["name"], arguments=call["arguments"])
            made.append(_protocol.ToolCall(id=call["id"], function=function))
        kind = _protocol.ExtractedToolCallInformation
        return kind(tools_called=bool(made), tool_calls=made, content=found.content or None, **_told(kind, found))

    def extract_tool_calls_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
        request: Any,
    ) -> Any:
        """Parses the next delta; ignores the other arguments."""
        if self._live is None:
            self._continue(delta_text)
            self._live = _servers.Live(self._engine, self._offered(request), self.recovered, self._prompt, self.calls)
        return _message(self._live.feed(delta_text))

    def finish_streaming(self) -> Any:
        """Ends the output and returns what was held back."""
        return None if self._live is None else _message(self._live.finish())


def _message(delta: _servers.Delta) -> Any:
    told = _told(_protocol.DeltaMessage, delta)
    if not delta.content and not delta.calls and not told:
        return None
    pieces = list(delta.calls)
    # At the end of a stream vLLM adds up two messages, of which only content and calls remain. That a call was sent which nobody
    # must run is therefore told with a call too: the last one, because clients take no other any more.
    void = delta.told is not None and bool(delta.told.get("void"))
    if void and not any(call["index"] == delta.last for call in pieces):
        pieces.append({"index": delta.last, "id": None, "name": None, "arguments": ""})
    calls = [
        _protocol.DeltaToolCall(
            index=call["index"],
            id=call["id"],
            type="function" if call["id"] else None,
            function=_protocol.DeltaFunctionCall(name=call["name"], arguments=call["arguments"]),
            **(_told(_protocol.DeltaToolCall, delta) if void and call["index"] == delta.last else {}),
        )
        for call in pieces
    ]
    return _protocol.DeltaMessage(content=delta.content or None, tool_calls=calls, **told)


def _told(kind: Any, delta: _servers.Delta) -> dict[str, Any]:
    """What the output lacks, as a member of a type that accepts members of others."""
    accepts = getattr(kind, "model_config", {}).get("extra") == "allow"
    return {"toolglot": delta.told} if accepts and delta.told is not None else {}


class ToolglotReasoningParser(_ReasoningParser):
    """Parses the reasoning at the beginning of one output; whatever follows goes to the tool parser unchanged. A call ends an
    open thought where the dialect says so.
    """

    engine_based_streaming = True
    dialect: ClassVar[Dialect]
    """The dialect of the markers."""
    thoughts: ClassVar[_servers.Thoughts]

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(tokenizer, *args, **kwargs)
        self._engine = self.thoughts.engine()
        self._start: Any = None
        self._prompt: str | None = None
        self._thought: _servers.Thought | None = None
        self._open, self._close = self._all(self.dialect.reasoning_openers), self._all(self.dialect.reasoning_closers)
        self._calls = self._all(self.thoughts.call_openers())
        self._turns = [ids for ids in map(self._turn, self.thoughts.turn_openers()) if ids]

    def _all(self, markers: Iterable[str]) -> list[list[int]]:
        return [ids for ids in map(self._ids, markers) if ids]

    def _ids(self, marker: str) -> list[int]:
        """The token ids of a marker."""
        token = self.vocab.get(marker)
        return [token] if token is not None else list(self.model_tokenizer.encode(marker, add_special_tokens=False))

    def _turn(self, marker: str) -> list[int]:
        """The token that begins a turn. The tokens of a role depend on what follows it, so they are left out."""
        ends = (end for end in range(len(marker), 2, -1) if marker[end - 1] in ">]" and marker[:end] in self.vocab)
        end = next(ends, None)
        return self._ids(marker if end is None else marker[:end])

    @property
    def reasoning_start_str(self) -> str | None:
        """The marker that opens reasoning."""
        return next(iter(self.dialect.reasoning_openers), None)

    @property
    def reasoning_end_str(self) -> str | None:
        """The marker that closes reasoning."""
        return next(iter(self.dialect.reasoning_closers), None)

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        """If the template has opened reasoning, the output begins inside it."""
        opened, ended = self._state(prompt_token_ids)
        if opened > ended:
            self._start = "reasoning"
        self._prompt = _tail(self.model_tokenizer, prompt_token_ids)

    adjust_initial_state_from_prompt = set_prompt_token_ids

    def _state(self, ids: Sequence[int]) -> tuple[int, int]:
        """The ends of the last marker that opens a thought in the last turn, and of the last one that ends it; -1 if there is
        none.
        """
        last = ids[max(0, _last(ids, self._turns)) :]
        opened, ended = _last(last, self._open), _last(last, self._close)
        # The marker of a call alone ends nothing: prompts describe calls.
        return opened, max(ended, _last(last, self._calls)) if opened > ended else ended

    def has_engine_confirmed_reasoning_end(self) -> bool:
        """Whether the deltas so far have ended the reasoning, or there is none."""
        return self._thought is not None and self._thought.ended

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Whether the last reasoning that was opened has been closed."""
        opened, ended = self._state(input_ids)
        return ended > opened

    def is_reasoning_end_streaming(self, input_ids: Sequence[int], delta_ids: Iterable[int]) -> bool:
        """Whether these tokens close the reasoning."""
        if not self._close:
            # A message has no closer; the parser's state decides.
            return self.has_engine_confirmed_reasoning_end()
        fresh = len(list(delta_ids))
        longest = max(map(len, [*self._close, *self._calls]), default=1)
        tail = list(input_ids[max(0, len(input_ids) - fresh - longest + 1) :])
        if _last(tail, self._close) >= 0:
            return True
        return _last(tail, self._calls) >= 0 and (self._start is not None or self.is_reasoning_end(input_ids))

    def _span(self, ids: list[int]) -> tuple[int, int, int]:
        """The reasoning in an output: where it begins, where it ends, and where the content begins."""
        opened = _first(ids, self._open)
        began = opened[1] if opened else 0
        closed = _first(ids, self._close, began)
        open_before = self._start is not None or (self._thought is not None and self._thought.began)
        called = _first(ids, self._calls, began) if opened or open_before else None
        if called and (closed is None or called[0] < closed[0]):
            return began, called[0], called[0]
        if closed:
            return began, *closed
        end = len(ids)
        return (began, end, end) if opened or self._start else (end, end, end)

    def extract_content_ids(self, input_ids: list[int]) -> list[int]:
        """The tokens after the reasoning."""
        return list(input_ids[self._span(list(input_ids))[2] :])

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        """The number of reasoning tokens in an output, without the markers."""
        start, end, _ = self._span(list(token_ids))
        return end - start

    def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:
        """Returns the reasoning and the rest of a whole output."""
        thought = self._new()
        pieces = thought.feed(model_output), thought.finish()
        reasoning, content = ("".join(both) for both in zip(*pieces, strict=True))
        if thought.interrupted:
            _servers.hand_over(content)
        return reasoning or None, content or None

    def _new(self) -> _servers.Thought:
        return _servers.Thought(self._engine, self.dialect, self._start, self._prompt)

    def extract_reasoning_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
    ) -> Any:
        """Parses the next delta; ignores the other arguments."""
        if self._thought is None:
            self._thought = self._new()
        ended = self._thought.ended
        reasoning, content = self._thought.feed(delta_text)
        if self._thought.interrupted and not ended:
            _servers.hand_over(content)
        return _thought_message(reasoning, content)

    def finish_streaming(self) -> Any:
        """Ends the output and returns what was held back."""
        return None if self._thought is None else _thought_message(*self._thought.finish())


def _thought_message(reasoning: str, content: str) -> Any:
    return _protocol.DeltaMessage(reasoning=reasoning or None, content=content or None) if reasoning or content else None


def _tail(tokenizer: Any, ids: Sequence[int]) -> str | None:
    """The end of the prompt, special tokens included. Only its last 4 KiB count."""
    decode = getattr(tokenizer, "decode", None)
    return None if decode is None else str(decode(list(ids[-1024:]), skip_special_tokens=False))


def _last(ids: Sequence[int], markers: list[list[int]]) -> int:
    """The end of the last of the markers; -1 if there is none."""
    for end in range(len(ids), 0, -1):
        for marker in markers:
            if ids[end - 1] == marker[-1] and list(ids[max(0, end - len(marker)) : end]) == marker:
                return end
    return -1


def _first(ids: Sequence[int], markers: list[list[int]], start: int = 0) -> tuple[int, int] | None:
    """Where the first of the markers begins and ends."""
    for end in range(start + 1, len(ids) + 1):
        for marker in markers:
            begin = end - len(marker)
            if begin >= start and list(ids[begin:end]) == marker:
                return begin, end
    return None


def register(name: str, *, recovered: bool = False, calls: str = "live", **options: Any) -> type[ToolglotToolParser]:
    """Registers a tool parser. `options` are those of `Engine`; the engine is made at once, so that an error shows here. With
    `calls="close"` a call is sent only when it is final.
    """
    _servers.check(options, calls)
    return _register(name, options, recovered, calls)


def _register(name: str, options: dict[str, Any], recovered: bool = False, calls: str = "live") -> type[ToolglotToolParser]:
    members = {"options": options, "recovered": recovered, "calls": calls, "__module__": __name__}
    made = type(f"ToolglotToolParser_{name}", (ToolglotToolParser,), members)
    globals()[made.__name__] = made
    _tools.ToolParserManager.register_module(name=name, module=made)
    return made


def _register_reasoning(name: str, thoughts: _servers.Thoughts) -> None:
    members = {"dialect": thoughts.markers, "thoughts": thoughts, "__module__": __name__}
    made = type(f"ToolglotReasoningParser_{name}", (ToolglotReasoningParser,), members)
    globals()[made.__name__] = made
    _reasoning.ReasoningParserManager.register_module(name=name, module=made)


def _register_all() -> None:
    _register(_servers.PREFIX, {"dialects": "default"})
    for name, dialect in _servers.names():
        if not _servers.is_reasoning(dialect):
            _register(name, {"dialects": dialect.id})
    for name, thoughts in _servers.vllm_reasoning_names():
        _register_reasoning(name, thoughts)


_register_all()
