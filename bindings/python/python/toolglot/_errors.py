"""The exceptions of the package. Mistakes of a model are no exceptions but events (`Issue`)."""

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
    """What every exception of this package is."""

    __module__ = "toolglot"


class DialectError(ToolglotError, ValueError):
    """A dialect, a file of one, a switch or a set of dialects cannot be used."""

    __module__ = "toolglot"


class ToolsError(ToolglotError, ValueError):
    """A list of tools cannot be read; the message says where."""

    __module__ = "toolglot"


class EncodeError(ToolglotError, ValueError):
    """A call or a transcript cannot be written in a dialect; the message says which value and why."""

    __module__ = "toolglot"


class StateError(ToolglotError):
    """It cannot be done now: the stream is finished, or broke off by an internal error."""

    __module__ = "toolglot"


class SnapshotError(StateError, ValueError):
    """A snapshot is damaged, or of another engine, other options or another version."""

    __module__ = "toolglot"


class LimitError(ToolglotError):
    """Arguments cannot be made Python objects: they are nested too deep, or hold an integer that is too long.

    Limits of the engine (`Limits`) are no exceptions; they come out as `Issue` events.
    """

    __module__ = "toolglot"


class BusyError(ToolglotError):
    """Another thread is using the stream."""

    __module__ = "toolglot"


class InternalError(ToolglotError, RuntimeError):
    """A mistake of this package. The stream that it happened in cannot be used any more; others can."""

    __module__ = "toolglot"


class ModelError(ToolglotError):
    """A model cannot be asked, or its reply broke off; the message says where and why."""

    __module__ = "toolglot"
