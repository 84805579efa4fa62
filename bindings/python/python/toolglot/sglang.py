"""Tool-call parsers for SGLang: every built-in dialect by name.

    python -m sglang.launch_server --model-path MODEL --tool-call-parser toolglot_qwen3_coder

SGLang finds this module through the entry point of the package and calls `setup`; no flag is needed. `toolglot` is the default
set of dialects. For a dialect of your own, call `register` in your own plug-in.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, ClassVar

from sglang.srt.function_call.core_types import StreamingParseResult, StructureInfo, ToolCallItem
from sglang.srt.function_call.function_call_parser import FunctionCallParser

from . import _servers
from ._native import dialects

if TYPE_CHECKING:
    BaseFormatDetector = _servers.Unseen
else:
    from sglang.srt.function_call.base_format_detector import BaseFormatDetector

__all__ = ["ToolglotDetector", "register", "setup"]


class ToolglotDetector(BaseFormatDetector):
    """Detects the calls of one output. Subclasses choose the dialects in `options`, as `Engine` takes them."""

    options: ClassVar[dict[str, Any]] = {}
    recovered: ClassVar[bool] = False
    """Whether to deliver recovered calls too."""
    calls: ClassVar[str] = "live"
    """`"live"` to send a call while it is written, `"close"` only when it is final."""

    def __init__(self) -> None:
        super().__init__()
        self._engine = _servers.engine_of(self.options)
        self._live: _servers.Live | None = None

    def has_tool_call(self, text: str) -> bool:
        """Whether a whole output contains anything that may not be text."""
        if any(opener in text for dialect in dialects(self._engine) for opener in dialect.openers):
            return True
        # Text of a block that broke is escaped.
        turn = self._engine.parse(text, guard=True)
        return bool(turn.calls) or turn.text != text

    def detect_and_parse(self, text: str, tools: Any) -> Any:
        """Parses a whole output."""
        return _result(_servers.whole(self._engine, text, tools, self.recovered))

    def parse_streaming_increment(self, new_text: str, tools: Any) -> Any:
        """Parses the next text."""
        if self._live is None:
            self._live = _servers.Live(self._engine, tools, self.recovered, calls=self.calls)
        return _result(self._live.feed(new_text))

    def finish(self, tools: Any) -> Any:
        """Ends the output and returns what was held back."""
        return StreamingParseResult() if self._live is None else _result(self._live.finish())

    def supports_structural_tag(self) -> bool:
        """True if the dialect's arguments are a JSON object between fixed texts. Otherwise SGLang asks for JSON where a call is
        required, and reads it itself: its structural tags can hold a JSON schema and nothing else.
        """
        return _servers.wrapping(self._engine, "f") is not None

    def structure_info(self) -> Any:
        """Returns a function that maps the name of a tool to the text around the arguments of its calls."""

        def around(name: str) -> Any:
            found = _servers.wrapping(self._engine, name)
            if found is None:
                dialects = ", ".join(self._engine.dialects[:3])
                raise NotImplementedError(f"SGLang's structural tags hold JSON, and the calls of {dialects} do not")
            return StructureInfo(begin=found.begin, end=found.end, trigger=found.trigger)

        return around


def _result(delta: _servers.Delta) -> Any:
    # Its types have no place for what the output lacks; that is in the log.
    items = [ToolCallItem(tool_index=call["index"], name=call["name"], parameters=call["arguments"]) for call in delta.calls]
    return StreamingParseResult(normal_text=delta.content, calls=items)


def parser_names() -> list[str] | None:
    """The names that the flag accepts, if the server keeps such a list."""
    try:
        module = importlib.import_module("sglang.srt.function_call.parser_names")
    except ModuleNotFoundError:
        return None
    found: list[str] | None = getattr(module, "TOOL_CALL_PARSER_NAMES", None)
    return found


def register(name: str, *, recovered: bool = False, calls: str = "live", **options: Any) -> type[ToolglotDetector]:
    """Registers a detector. `options` are those of `Engine`; the engine is made at once, so that an error shows here. With
    `calls="close"` a call is sent only when it is final.
    """
    _servers.check(options, calls)
    return _register(name, options, recovered, calls)


def _register(name: str, options: dict[str, Any], recovered: bool = False, calls: str = "live") -> type[ToolglotDetector]:
    made = type(f"ToolglotDetector_{name}", (ToolglotDetector,), {"options": options, "recovered": recovered, "calls": calls})
    FunctionCallParser.ToolCallParserEnum[name] = made
    # Since 0.5.21 the names of the flag are kept in a separate list.
    names = parser_names()
    if names is not None and name not in names:
        names.append(name)
    return made


def setup() -> None:
    """Registers all detectors; SGLang calls this in each of its processes."""
    _register(_servers.PREFIX, {"dialects": "default"})
    for name, dialect in _servers.names():
        if not _servers.is_reasoning(dialect):
            _register(name, {"dialects": dialect.id})
