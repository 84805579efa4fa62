"""A function for DataFusion."""

from __future__ import annotations

from typing import Any

from . import arrow
from ._native import Engine

__all__ = ["parse_udf"]


def parse_udf(engine: Engine | None = None, *, name: str = "toolglot_parse", **options: Any) -> Any:
    """Returns a scalar function that parses a column of transcripts into turns, as structs.
    `options` are those of `toolglot.arrow.parse`.

        context.register_udf(toolglot.datafusion.parse_udf())
        context.sql("select toolglot_parse(output)['calls'] from outputs")
    """
    import pyarrow
    from datafusion import udf

    engine = engine or Engine()

    def turns(column: Any) -> Any:
        return pyarrow.array(arrow.parse(column, engine, **options))

    text = pyarrow.string()
    return udf(turns, [text], turns(pyarrow.array([], text)).type, "stable", name)
