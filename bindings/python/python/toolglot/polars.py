"""An expression for Polars."""

from __future__ import annotations

from typing import Any

from . import arrow
from ._native import Engine

__all__ = ["parse"]


def parse(expression: Any, engine: Engine | None = None, *, conversations: bool = False, **options: Any) -> Any:
    """Parses a column of transcripts into turns, as structs. `expression` is an expression or the name of
    a column, `options` are those of `toolglot.arrow.parse`. With `conversations` each row is a list of messages, and becomes a
    list of turns.

        frame.with_columns(turn=toolglot.polars.parse("output"))
    """
    import polars

    engine = engine or Engine()

    def turns(series: Any) -> Any:
        return polars.Series(series.name, arrow.parse(series, engine, **options))

    column = polars.col(expression) if isinstance(expression, str) else expression
    kind = turns(polars.Series("", [], dtype=polars.String)).dtype
    return column.map_batches(turns, return_dtype=polars.List(kind) if conversations else kind)
