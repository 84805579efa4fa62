"""Tool and reasoning parsers for vLLM: every built-in dialect by name.

    vllm serve MODEL --enable-auto-tool-choice --tool-call-parser toolglot_qwen3_coder
    vllm serve MODEL --reasoning-parser toolglot_qwen3_coder ...

vLLM finds them through the entry point of the package (`vllm.general_plugins`); no flag is needed. `toolglot` is the default
set of dialects. For a dialect of your own, write a plug-in that calls `register`. Each delta is read once; the history is
neither kept nor read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from . import _servers
from ._native import Dialect, Reasoning, Stream, Text

_protocol: Any = _servers.first("vLLM", *_servers.VLLM_PROTOCOL)
_tools: Any = _servers.first("vLLM", *_servers.VLLM_TOOLS)
_reasoning: Any = _servers.first("vLLM", *_servers.VLLM_REASONING)
_ToolParser: Any = _tools.ToolParser
_ReasoningParser: Any = _reasoning.ReasoningParser

__all__ = ["ToolglotReasoningParser", "ToolglotToolParser", "register"]


class ToolglotToolParser(_ToolParser):  # type: ignore[misc]
    """Parses the calls of one output. Subclasses choose the dialects in `options`, as `Engine` takes them."""

    # Deltas come without the preceding text.
    engine_based_streaming = True
    options: ClassVar[dict[str, Any]] = {}
    recovered: ClassVar[bool] = False
    """Whether to deliver recovered calls too."""

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
        request = super().adjust_request(request)
        if getattr(request, "tools", None) and getattr(request, "tool_choice", None) != "none":
            request.skip_special_tokens = False
        return request

    def _offered(self, request: Any) -> Any:
        """The declared tools; some callers have no request."""
        return getattr(request, "tools", None) or getattr(self, "tools", None)

    def extract_tool_calls(self, model_output: str, request: Any) -> Any:
        """Parses a whole output."""
        content, calls = _servers.whole(self._engine, model_output, self._offered(request), self.recovered, self._prompt)
        made = []
        for call in calls:
            identity, function = call["id"], call["function"]
            function = _protocol.FunctionCall(id=identity, name=function["name"], arguments=function["arguments"])
            made.append(_protocol.ToolCall(id=identity, function=function))
        return _protocol.ExtractedToolCallInformation(tools_called=bool(made), tool_calls=made, content=content or None)

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
            self._live = _servers.Live(self._engine, self._offered(request), self.recovered, self._prompt)
        return _message(self._live.feed(delta_text))

    def finish_streaming(self) -> Any:
        """Ends the output and returns what was held back."""
        return None if self._live is None else _message(self._live.finish())


def _message(delta: _servers.Delta) -> Any:
    if not delta.content and not delta.calls:
        return None
    calls = [
        _protocol.DeltaToolCall(
            index=call["index"],
            id=call["id"],
            type="function" if call["id"] else None,
            function=_protocol.DeltaFunctionCall(name=call["name"], arguments=call["arguments"]),
        )
        for call in delta.calls
    ]
    return _protocol.DeltaMessage(content=delta.content or None, tool_calls=calls)


class ToolglotReasoningParser(_ReasoningParser):  # type: ignore[misc]
    """Parses the reasoning at the beginning of one output; whatever follows goes to the tool parser unchanged."""

    engine_based_streaming = True
    dialect: ClassVar[Dialect]

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(tokenizer, *args, **kwargs)
        self._engine = _servers.reasoning_engine(self.dialect)
        self._start: Any = None
        self._prompt: str | None = None
        self._stream: Stream | None = None
        self._ended = False
        self._open = [ids for ids in map(self._ids, self.dialect.reasoning_openers) if ids]
        self._close = [ids for ids in map(self._ids, self.dialect.reasoning_closers) if ids]

    def _ids(self, marker: str) -> list[int]:
        """The token ids of a marker."""
        token = self.vocab.get(marker)
        return [token] if token is not None else list(self.model_tokenizer.encode(marker, add_special_tokens=False))

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
        opened, closed = _last(prompt_token_ids, self._open), _last(prompt_token_ids, self._close)
        if opened > closed:
            self._start = "reasoning"
        self._prompt = _tail(self.model_tokenizer, prompt_token_ids)

    adjust_initial_state_from_prompt = set_prompt_token_ids

    def has_engine_confirmed_reasoning_end(self) -> bool:
        """Whether the deltas so far have ended the reasoning, or there is none."""
        return self._ended

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Whether the last reasoning that was opened has been closed."""
        return _last(input_ids, self._close) > _last(input_ids, self._open)

    def is_reasoning_end_streaming(self, input_ids: Sequence[int], delta_ids: Iterable[int]) -> bool:
        """Whether these tokens close the reasoning."""
        if not self._close:
            # A message has no closer; the parser's state decides.
            return self._ended
        fresh = len(list(delta_ids))
        longest = max(map(len, self._close), default=1)
        tail = list(input_ids[max(0, len(input_ids) - fresh - longest + 1) :])
        return _last(tail, self._close) >= 0

    def extract_content_ids(self, input_ids: list[int]) -> list[int]:
        """The tokens after the reasoning."""
        end = _last(input_ids, self._close)
        return [] if end < 0 else list(input_ids[end:])

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        """The number of reasoning tokens in an output, without the markers."""
        ids = list(token_ids)
        closed = _last(ids, self._close)
        opened = _first(ids, self._open)
        start = opened if opened >= 0 else 0 if self._start or closed >= 0 else len(ids)
        length = next((len(marker) for marker in self._close if closed >= 0 and ids[closed - len(marker) : closed] == marker), 0)
        return max(0, (closed - length if closed >= 0 else len(ids)) - start)

    def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:
        """Returns the reasoning and the rest of a whole output."""
        turn = self._engine.parse(model_output, start=self._start, prompt_tail=self._prompt)
        return turn.reasoning or None, turn.text or None

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
        if self._stream is None:
            self._stream = self._engine.stream(start=self._start, prompt_tail=self._prompt)
        if self._stream.finished:
            return _protocol.DeltaMessage(content=delta_text or None)
        return self._message(self._stream.feed(delta_text))

    def finish_streaming(self) -> Any:
        """Ends the output and returns what was held back."""
        return None if self._stream is None else self._message(self._stream.finish())

    def _message(self, events: list[Any]) -> Any:
        reasoning = content = ""
        for event in events:
            match event:
                case Reasoning(text, framing=False):
                    reasoning += text
                case Reasoning(text):
                    self._ended = self._ended or text in self.dialect.reasoning_closers
                case Text(text):
                    content += text
                    self._ended = self._ended or not text.isspace()
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


def _first(ids: Sequence[int], markers: list[list[int]]) -> int:
    """The end of the first of the markers; -1 if there is none."""
    for end in range(1, len(ids) + 1):
        for marker in markers:
            if list(ids[max(0, end - len(marker)) : end]) == marker:
                return end
    return -1


def register(name: str, *, recovered: bool = False, **options: Any) -> type[ToolglotToolParser]:
    """Registers a tool parser. `options` are those of `Engine`; the engine is made at once, so that an error shows here."""
    _servers.engine_of(options)
    return _register(name, options, recovered)


def _register(name: str, options: dict[str, Any], recovered: bool = False) -> type[ToolglotToolParser]:
    made = type(f"ToolglotToolParser_{name}", (ToolglotToolParser,), {"options": options, "recovered": recovered, "__module__": __name__})
    globals()[made.__name__] = made
    _tools.ToolParserManager.register_module(name=name, module=made)
    return made


def _register_reasoning(name: str, dialect: Dialect) -> None:
    made = type(f"ToolglotReasoningParser_{name}", (ToolglotReasoningParser,), {"dialect": dialect, "__module__": __name__})
    globals()[made.__name__] = made
    _reasoning.ReasoningParserManager.register_module(name=name, module=made)


def _register_all() -> None:
    _register(_servers.PREFIX, {"dialects": "default"})
    for name, dialect in _servers.names():
        if not _servers.is_reasoning(dialect):
            _register(name, {"dialects": dialect.id})
    for name, dialect in _servers.vllm_reasoning_names():
        _register_reasoning(name, dialect)


_register_all()
