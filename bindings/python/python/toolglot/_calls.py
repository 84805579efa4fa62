"""The calls of a stream so far, for servers that need them while they are being written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from ._native import ArgDelta, BlockAbandoned, BlockOpen, Call, CallAbandoned, CallClose, CallOpen
from ._types import Event


_REPEATS = {"duplicate_param", "repeated_param"}
_TOKENS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]')


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

    Memory grows with the calls. `closed` becomes the calls of the turn, with `retain="none"` too: there the arguments are those that
    arrived in pieces. A call whose arguments came only as parameters is recovered, and has none.

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
        arguments = event.arguments_json
        if arguments is None:
            arguments = "".join(self._pieces)
            if arguments and not _REPEATS.isdisjoint(event.kinds):
                arguments = _last_wins(arguments)
        self._closed.append(
            Call(
                event.name,
                arguments or "{}",
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


def _last_wins(text: str) -> str:
    """The text of arguments that repeat a key: each key once, with its last value. Values keep the model's spelling."""
    members: dict[str, str] = {}
    key, start, depth = "", 1, 0
    for token in _TOKENS.finditer(text):
        sign = token.group()
        if depth == 1 and sign in (":", ",", "}"):
            part = text[start : token.start()].strip()
            if sign == ":":
                key = json.loads(part)
            else:
                members[key] = part
            start = token.end()
        depth += (sign in ("{", "[")) - (sign in ("}", "]"))
    return "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{value}" for key, value in members.items()) + "}"
