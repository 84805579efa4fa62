"""Tool-call parsers for SGLang: every built-in dialect by name.

    python -m sglang.launch_server --model-path MODEL --tool-call-parser toolglot_qwen3_coder

SGLang finds this module by the entry point of the package and calls `setup`; there is no flag for it. `toolglot` is the default
set of dialects. For a dialect of your own, call `register` in a plug-in of yours.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sglang.srt.function_call import parser_names
from sglang.srt.function_call.base_format_detector import BaseFormatDetector
from sglang.srt.function_call.core_types import StreamingParseResult, ToolCallItem
from sglang.srt.function_call.function_call_parser import FunctionCallParser

from . import _servers
from ._native import dialects

__all__ = ["ToolglotDetector", "register", "setup"]


class ToolglotDetector(BaseFormatDetector):  # type: ignore[misc]
    """Calls of one output. Subclasses say in `options` which dialects, as `Engine` takes them."""

    options: ClassVar[dict[str, Any]] = {}
    recovered: ClassVar[bool] = False
    """Deliver mended calls too."""

    def __init__(self) -> None:
        super().__init__()
        self._engine = _servers.engine_of(self.options)
        self._live: _servers.Live | None = None

    def has_tool_call(self, text: str) -> bool:
        """Whether there is anything in a whole output that may not be text."""
        if any(opener in text for dialect in dialects(self._engine) for opener in dialect.openers):
            return True
        turn = self._engine.parse(text)
        return bool(turn.calls) or turn.text != text

    def detect_and_parse(self, text: str, tools: Any) -> Any:
        """Reads a whole output."""
        content, calls = _servers.whole(self._engine, text, tools, self.recovered)
        items = [ToolCallItem(tool_index=at, name=call.name, parameters=call.arguments_json) for at, call in enumerate(calls)]
        return StreamingParseResult(normal_text=content, calls=items)

    def parse_streaming_increment(self, new_text: str, tools: Any) -> Any:
        """Reads the next text."""
        if self._live is None:
            self._live = _servers.Live(self._engine, tools, self.recovered)
        return _result(self._live.feed(new_text))

    def finish(self, tools: Any) -> Any:
        """What waited comes out."""
        return StreamingParseResult() if self._live is None else _result(self._live.finish())

    def supports_structural_tag(self) -> bool:
        """No: where a call is required, SGLang asks for JSON and reads it itself."""
        return False

    def structure_info(self) -> Any:
        """There is none."""
        raise NotImplementedError("toolglot reads calls; it does not constrain what is generated")


def _result(delta: _servers.Delta) -> Any:
    items = [ToolCallItem(tool_index=call["index"], name=call["name"], parameters=call["arguments"]) for call in delta.calls]
    return StreamingParseResult(normal_text=delta.content, calls=items)


def register(name: str, *, recovered: bool = False, **options: Any) -> type[ToolglotDetector]:
    """Registers a detector. `options` are those of `Engine`; the engine is made now, so that a mistake shows at once."""
    _servers.engine_of(options)
    return _register(name, options, recovered)


def _register(name: str, options: dict[str, Any], recovered: bool = False) -> type[ToolglotDetector]:
    made = type(f"ToolglotDetector_{name}", (ToolglotDetector,), {"options": options, "recovered": recovered})
    FunctionCallParser.ToolCallParserEnum[name] = made
    if name not in parser_names.TOOL_CALL_PARSER_NAMES:
        parser_names.TOOL_CALL_PARSER_NAMES.append(name)
    return made


def setup() -> None:
    """Registers all; SGLang calls this in each of its processes."""
    _register(_servers.PREFIX, {"dialects": "default"})
    for name, dialect in _servers.names():
        if not _servers.is_reasoning(dialect):
            _register(name, {"dialects": dialect.id})
