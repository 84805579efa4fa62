"""Types that have no class of their own."""

from typing import Any, Protocol, TypeAlias

from ._native import (
    ArgDelta,
    BlockAbandoned,
    BlockClose,
    BlockOpen,
    CallAbandoned,
    CallClose,
    CallNamed,
    CallOpen,
    Issue,
    ParamClose,
    ParamDelta,
    ParamOpen,
    Protected,
    Raw,
    Reasoning,
    Text,
)

Event: TypeAlias = (
    Text
    | Reasoning
    | Protected
    | Raw
    | BlockOpen
    | CallNamed
    | CallOpen
    | ArgDelta
    | ParamOpen
    | ParamDelta
    | ParamClose
    | CallAbandoned
    | CallClose
    | BlockClose
    | BlockAbandoned
    | Issue
)
"""Any event that `feed` and `finish` return."""


class Target(Protocol):
    """Anything that takes pieces and returns results: a stream, a reader, a rewriter."""

    def feed(self, chunk: str | bytes, /) -> list[Any]:
        """Takes the next piece."""

    def finish(self) -> list[Any]:
        """Ends it."""
