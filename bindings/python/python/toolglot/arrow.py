"""Columns of transcripts into columns of turns, for any engine that speaks Arrow.

No Arrow library is imported: columns come and go through the PyCapsule interface. What goes out has one row for each row that
came in, with these fields (version 1 of the schema, which stands in the metadata `toolglot.schema`):

| field | type |
|---|---|
| `text`, `reasoning` | utf8 |
| `calls` | list of `name`, `arguments` (JSON), `state` (`complete`, `repaired` or `recovered`), `id`, `dialect`: utf8; `start`, `end`: int64 |
| `errors` | list of `kind`, `severity`, `message`: utf8; `start`, `end`: int64 |

A null stays a null.
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
    """Parses every row of a column of text or bytes.

    `column` is whatever has `__arrow_c_array__` or `__arrow_c_stream__`: an array or a chunked array of pyarrow, a series of
    polars, and so on; utf8, large_utf8, utf8_view and the three binary types. `columns` are the fields that are wanted:
    without `text` the result is about half as large. The rows are read while other Python threads run.

    A result is one array, and each of its columns holds at most 2 GiB; beyond that it is a `LimitError`.
    """
    return parse_arrow(engine or Engine(), column, list(columns), finish)
