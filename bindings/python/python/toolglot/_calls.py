"""The calls of a stream so far, for servers that need them while they are being written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ._native import ArgDelta, BlockAbandoned, BlockOpen, Call, CallAbandoned, CallClose, CallOpen
from ._types import Event


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call that is still being written."""

    index: int
    """Its index among the calls of the turn, from 0."""
    id: str | None
    """The id that the format gives it, if any."""
    name: str
    """The name of the tool."""
    arguments_json: str
    """Its arguments so far: a prefix of the final JSON text."""


class Calls:
    """The calls of a stream so far. Give it the events of one stream, in order.

    Memory grows with the calls. With `retain="none"` closed calls have no arguments.

    >>> import toolglot
    >>> stream, calls = toolglot.Engine("hermes").stream(), toolglot.Calls()
    >>> calls.add(stream.feed('<tool_call>{"name": "f", "arguments": {"city": "Le'))
    >>> calls.open
    OpenCall(index=0, id=None, name='f', arguments_json='{"city": "Le')
    >>> calls.add(stream.feed('ith"}}</tool_call>'))
    >>> calls.open, [(call.index, call.name, call.arguments) for call in calls.closed]
    (None, [(0, 'f', {'city': 'Leith'})])
    """

    def __init__(self) -> None:
        self._closed: list[Call] = []
        self._before = 0
        self._opened: CallOpen | None = None
        self._pieces: list[str] = []

    @property
    def closed(self) -> list[Call]:
        """The calls that have closed and were not retracted."""
        return list(self._closed)

    @property
    def open(self) -> OpenCall | None:
        """The open call, if any. Always `None` for formats whose calls open only when their block ends.
        """
        call = self._opened
        if call is None:
            return None
        return OpenCall(len(self._closed), call.meta.get("id") or None, call.name, "".join(self._pieces))

    def add(self, events: Iterable[Event]) -> None:
        """Takes the next events."""
        for event in events:
            match event:
                case BlockOpen():
                    self._before = len(self._closed)
                case BlockAbandoned():
                    del self._closed[self._before :]
                    self._opened = None
                case CallOpen():
                    self._opened, self._pieces = event, []
                case ArgDelta():
                    self._pieces.append(event.json)
                case CallAbandoned():
                    self._opened = None
                case CallClose():
                    self._close(event)

    def _close(self, event: CallClose) -> None:
        opened, self._opened = self._opened, None
        if opened is None:
            return
        recovered = event.recovered
        repaired = event.kinds if recovered is None and event.kinds else None
        self._closed.append(
            Call(
                event.name,
                event.arguments_json or "{}",
                len(self._closed),
                recovered,
                opened.dialect,
                opened.meta,
                opened.native,
                event.start,
                event.end,
                repaired,
            )
        )
