"""The exceptions of the package. A model's mistakes are not exceptions but events (`Issue`)."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Event

__all__ = [
    "BusyError",
    "DialectError",
    "EncodeError",
    "InternalError",
    "LimitError",
    "ModelError",
    "SnapshotError",
    "StateError",
    "ToolglotError",
    "ToolsError",
]


class ToolglotError(Exception):
    """The base class of all exceptions of this package."""

    __module__ = "toolglot"

    results: "list[str | list[Event] | None] | None" = None
    """Of an exception that `feed_many` raises after it has fed the other streams: what they returned, and `None` for those that failed."""


class DialectError(ToolglotError, ValueError):
    """A dialect, a dialect file, a switch or a set of dialects is unusable."""

    __module__ = "toolglot"


class ToolsError(ToolglotError, ValueError):
    """A list of tools cannot be read; the message says where."""

    __module__ = "toolglot"


class EncodeError(ToolglotError, ValueError):
    """A call or a transcript cannot be written in a dialect; the message says which value and why."""

    __module__ = "toolglot"


class StateError(ToolglotError):
    """The object's state does not allow this: it is finished, or unusable after an internal error.
    """

    __module__ = "toolglot"


class SnapshotError(StateError, ValueError):
    """A snapshot is damaged, or comes from another engine, other options or another version."""

    __module__ = "toolglot"


class LimitError(ToolglotError):
    """Arguments cannot become Python objects: they are nested too deeply, or hold an integer that
    is too long.

    Exceeding a limit of the engine (`Limits`) raises nothing; it is reported as an `Issue` event.
    """

    __module__ = "toolglot"


class BusyError(ToolglotError):
    """Another thread is using the stream."""

    __module__ = "toolglot"


class InternalError(ToolglotError, RuntimeError):
    """A bug in this package. The stream in which it occurred is unusable; others are not affected.
    """

    __module__ = "toolglot"


class ModelError(ToolglotError):
    """The model cannot be reached, or its reply broke off; the message says where and why."""

    __module__ = "toolglot"
