"""A streaming parser for the tool calls that language models write into their text.

Feed the output of a model as it arrives, in any chunks. You get plain text, reasoning and tool calls, whatever dialect
the model writes. The same bytes give the same events however they are chunked.

>>> import toolglot
>>> engine = toolglot.Engine()                     # compiled once, shared by all streams and threads
>>> with engine.stream() as stream:                # one model output
...     for chunk in ["Looking. <tool_c", 'all name="weather"><param name="city">Le', "ith</param></tool_call>"]:
...         for event in stream.feed(chunk):
...             match event:
...                 case toolglot.Text(text):
...                     print("text", repr(text))
...                 case toolglot.CallClose(name=name, arguments=arguments):
...                     print("call", name, arguments)
text 'Looking. '
call weather {'city': 'Leith'}
"""

from ._errors import (
    BusyError,
    DialectError,
    EncodeError,
    InternalError,
    LimitError,
    ModelError,
    SnapshotError,
    StateError,
    ToolglotError,
    ToolsError,
)
from ._native import (
    ArgDelta,
    BlockAbandoned,
    BlockClose,
    BlockOpen,
    Call,
    CallAbandoned,
    CallClose,
    CallNamed,
    CallOpen,
    Derived,
    Dialect,
    Engine,
    Evidence,
    Issue,
    Limits,
    Mask,
    ModelDialects,
    ParamClose,
    ParamDelta,
    ParamOpen,
    Protected,
    Raw,
    Reader,
    Reasoning,
    Rewriter,
    Stream,
    Text,
    Turn,
    __version__,
    derive,
    detect,
    dialect_toml,
    dialects,
    feed_many,
    issue_kinds,
    live_streams,
    model_dialects,
)

# The rest is imported when it is first used: it needs much of the standard library, and a parser nothing of it.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._agent import Agent, PendingCall, Run, RunCall, RunEvent, Task
    from ._calls import Calls, OpenCall
    from ._clients import AsyncEvents, Events, aevents, ato_openai, events, to_completion, to_openai
    from ._functions import encode, escape, mask, parse, transcode, unescape
    from ._tools import Checked, Tool, Tools, tool
    from ._types import Event

__all__ = [
    "Agent",
    "ArgDelta",
    "AsyncEvents",
    "BlockAbandoned",
    "BlockClose",
    "BlockOpen",
    "BusyError",
    "Call",
    "CallAbandoned",
    "CallClose",
    "CallNamed",
    "CallOpen",
    "Calls",
    "Checked",
    "Derived",
    "Dialect",
    "DialectError",
    "EncodeError",
    "Engine",
    "Event",
    "Events",
    "Evidence",
    "InternalError",
    "Issue",
    "LimitError",
    "Limits",
    "Mask",
    "ModelDialects",
    "ModelError",
    "OpenCall",
    "ParamClose",
    "ParamDelta",
    "ParamOpen",
    "PendingCall",
    "Protected",
    "Raw",
    "Reader",
    "Reasoning",
    "Rewriter",
    "Run",
    "RunCall",
    "RunEvent",
    "SnapshotError",
    "StateError",
    "Stream",
    "Task",
    "Text",
    "Tool",
    "ToolglotError",
    "Tools",
    "ToolsError",
    "Turn",
    "__version__",
    "aevents",
    "ato_openai",
    "derive",
    "detect",
    "dialect_toml",
    "dialects",
    "encode",
    "escape",
    "events",
    "feed_many",
    "issue_kinds",
    "live_streams",
    "mask",
    "model_dialects",
    "parse",
    "to_completion",
    "to_openai",
    "tool",
    "transcode",
    "unescape",
]

_LATER = {
    "_agent": "Agent PendingCall Run RunCall RunEvent Task",
    "_calls": "Calls OpenCall",
    "_clients": "AsyncEvents Events aevents ato_openai events to_completion to_openai",
    "_functions": "encode escape mask parse transcode unescape",
    "_tools": "Checked Tool Tools tool",
    "_types": "Event",
}


def __getattr__(name: str) -> object:
    for module, names in _LATER.items():
        if name in names.split():
            import importlib

            found = globals()[name] = getattr(importlib.import_module("." + module, __name__), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
