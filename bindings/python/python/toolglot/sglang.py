"""Tool-call parsers for SGLang: every built-in dialect by name.

    python -m sglang.launch_server --model-path MODEL --tool-call-parser toolglot_qwen3_coder

SGLang finds this module by the entry point of the package and calls `setup`; there is no flag for it. `toolglot` is the default
set of dialects. For a dialect of your own, call `register` in a plug-in of yours.
"""

from __future__ import annotations

import importlib
from typing import Any, ClassVar

from sglang.srt.function_call.base_format_detector import BaseFormatDetector
from sglang.srt.function_call.core_types import StreamingParseResult, StructureInfo, ToolCallItem
from sglang.srt.function_call.function_call_parser import FunctionCallParser

from . import _servers
from ._native import dialects

__all__ = ["ToolglotDetector", "register", "setup"]


class ToolglotDetector(BaseFormatDetector):  # type: ignore[misc]
    """Calls of one output. Subclasses say in `options` which dialects, as `Engine` takes them."""

    options: ClassVar[dict[str, Any]] = {}
    recovered: ClassVar[bool] = False
    """Deliver recovered calls too."""

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
        functions = [call["function"] for call in calls]
        items = [ToolCallItem(tool_index=at, name=call["name"], parameters=call["arguments"]) for at, call in enumerate(functions)]
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
        """Where the dialect's arguments are a JSON object between marks. Elsewhere SGLang asks for JSON where a call is
        required, and reads it itself: its tags hold a JSON schema and nothing else."""
        return _servers.wrapping(self._engine, "f") is not None

    def structure_info(self) -> Any:
        """What stands around the arguments of a call of a tool: a function of its name."""

        def around(name: str) -> Any:
            found = _servers.wrapping(self._engine, name)
            if found is None:
                dialects = ", ".join(self._engine.dialects[:3])
                raise NotImplementedError(f"SGLang's structural tags hold JSON, and the calls of {dialects} do not")
            return StructureInfo(begin=found.begin, end=found.end, trigger=found.trigger)

        return around


def _result(delta: _servers.Delta) -> Any:
    items = [ToolCallItem(tool_index=call["index"], name=call["name"], parameters=call["arguments"]) for call in delta.calls]
    return StreamingParseResult(normal_text=delta.content, calls=items)


def parser_names() -> list[str] | None:
    """The list of names that the flag takes, where the server has one."""
    try:
        module = importlib.import_module("sglang.srt.function_call.parser_names")
    except ModuleNotFoundError:
        return None
    found: list[str] | None = getattr(module, "TOOL_CALL_PARSER_NAMES", None)
    return found


def register(name: str, *, recovered: bool = False, **options: Any) -> type[ToolglotDetector]:
    """Registers a detector. `options` are those of `Engine`; the engine is made now, so that a mistake shows at once."""
    _servers.engine_of(options)
    return _register(name, options, recovered)


def _register(name: str, options: dict[str, Any], recovered: bool = False) -> type[ToolglotDetector]:
    made = type(f"ToolglotDetector_{name}", (ToolglotDetector,), {"options": options, "recovered": recovered})
    FunctionCallParser.ToolCallParserEnum[name] = made
    # Since 0.5.21 the names of the flag stand in a list of their own.
    names = parser_names()
    if names is not None and name not in names:
        names.append(name)
    return made


def setup() -> None:
    """Registers all; SGLang calls this in each of its processes."""
    _register(_servers.PREFIX, {"dialects": "default"})
    for name, dialect in _servers.names():
        if not _servers.is_reasoning(dialect):
            _register(name, {"dialects": dialect.id})
