"""An expression for Daft."""

from __future__ import annotations

from typing import Any

from . import arrow
from ._native import Engine

__all__ = ["parse"]


def parse(expression: Any, engine: Engine | None = None, *, conversations: bool = False, **options: Any) -> Any:
    """Parses a column of transcripts into turns, as structs. `expression` is an expression or the
    name of a column, `options` are those of `toolglot.arrow.parse`. With `conversations` each row is a list of messages, and
    becomes a list of turns.

        frame.with_column("turn", toolglot.daft.parse("output"))
    """
    import daft
    import pyarrow

    engine = engine or Engine()

    def turns(column: Any) -> Any:
        return pyarrow.array(arrow.parse(column, engine, **options))

    turn = turns(pyarrow.array([], pyarrow.string())).type
    kind = daft.DataType.from_arrow_type(pyarrow.list_(turn) if conversations else turn)

    @daft.func.batch(return_dtype=kind)  # type: ignore[untyped-decorator,unused-ignore]
    def toolglot_parse(series: Any) -> Any:
        return turns(series.to_arrow())

    return toolglot_parse(daft.col(expression) if isinstance(expression, str) else expression)
