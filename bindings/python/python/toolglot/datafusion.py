"""A function for DataFusion."""

from __future__ import annotations

from typing import Any

from . import arrow
from ._native import Engine

__all__ = ["parse_udf"]


def parse_udf(engine: Engine | None = None, *, name: str = "toolglot_parse", input_type: Any = None, **options: Any) -> Any:
    """Returns a scalar function that parses a column of transcripts into turns, as structs.
    `input_type` is the type of the column [default: `pyarrow.string()`]; lists of messages become lists of turns. `options` are
    those of `toolglot.arrow.parse`.

        context.register_udf(toolglot.datafusion.parse_udf())
        context.sql("select toolglot_parse(output)['calls'] from outputs")
    """
    import pyarrow
    from datafusion import udf

    engine = engine or Engine()

    def turns(column: Any) -> Any:
        return pyarrow.array(arrow.parse(column, engine, **options))

    given = pyarrow.string() if input_type is None else input_type
    return udf(turns, [given], turns(pyarrow.array([], given)).type, "stable", name)
