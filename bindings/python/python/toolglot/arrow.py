"""Columns of transcripts into columns of turns, for any engine that supports Arrow.

No Arrow library is imported: columns are exchanged through the PyCapsule interface. The result has one row for each input
row, with these fields (version 1 of the schema, recorded in the metadata `toolglot.schema`):

| field | type |
|---|---|
| `text`, `reasoning` | utf8 |
| `calls` | list of `name`, `arguments` (JSON), `state` (`complete`, `repaired` or `recovered`), `id`, `dialect`: utf8; `start`, `end`: int64 |
| `errors` | list of `kind`, `severity`, `message`: utf8; `start`, `end`: int64 |

A null stays a null.

Of a column of conversations (lists of structs with `role` or `from`, and `content` or `value`) each row becomes a list with a
turn for each message: null if the message is not the model's, or has no text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from ._native import Engine, Turns, parse_arrow

__all__ = ["COLUMNS", "Turns", "parse"]

COLUMNS = ("text", "reasoning", "calls", "errors")
"""The fields of the result."""


def parse(
    column: Any,
    engine: Engine | None = None,
    *,
    columns: Iterable[str] = COLUMNS,
    finish: Literal["stop", "length", "tool_calls", "error", "cancelled"] = "stop",
) -> Turns:
    """Parses every row of a column of text or bytes, or every message of the model in a column of conversations.

    `column` is any object with `__arrow_c_array__` or `__arrow_c_stream__`: an array or a chunked array of pyarrow, a series
    of polars, and so on; utf8, large_utf8, utf8_view and the three binary types, or a list or large_list of structs with such fields. `columns` are the fields to return: without
    `text` the result is about half as large. Other Python threads run during parsing.

    The result is one array, and each of its columns holds at most 2 GiB. Raises `LimitError` for a larger one.
    """
    return parse_arrow(engine or Engine(), column, list(columns), finish)
