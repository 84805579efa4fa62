"""A step for Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from . import arrow
from ._native import Engine

__all__ = ["TYPE", "parse"]

_CALL = "name: string, arguments: string, state: string, id: string, dialect: string, start: bigint, end: bigint"
_ERROR = "kind: string, severity: string, message: string, start: bigint, end: bigint"
_FIELDS = {"text": "string", "reasoning": "string", "calls": f"array<struct<{_CALL}>>", "errors": f"array<struct<{_ERROR}>>"}
TYPE = f"struct<{', '.join(f'{name}: {kind}' for name, kind in _FIELDS.items())}>"
"""The type of a turn, as Spark spells it."""


def parse(frame: Any, column: str, into: str = "turn", engine: Engine | None = None, **options: Any) -> Any:
    """Returns the data frame with a column of turns, or of lists of them if the column has lists of messages; `options` are those of `toolglot.arrow.parse`.

        toolglot.spark.parse(spark.read.parquet("outputs"), "output").write.parquet("turns")
    """
    from pyspark.sql.types import ArrayType, StructType

    engine = engine or Engine()
    wanted = list(options.get("columns", arrow.COLUMNS))
    kind = f"struct<{', '.join(f'{name}: {_FIELDS[name]}' for name in wanted)}>"
    if isinstance(frame.schema[column].dataType, ArrayType):
        kind = f"array<{kind}>"
    schema = StructType([*frame.schema.fields, *StructType.fromDDL(f"{into} {kind}").fields])

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            yield append(batch, column, into, engine, options)

    return frame.mapInArrow(run, schema)


def append(batch: Any, column: str, into: str, engine: Engine, options: dict[str, Any]) -> Any:
    """Returns the record batch with its turns."""
    import pyarrow

    turns = pyarrow.array(arrow.parse(batch.column(batch.schema.get_field_index(column)), engine, **options))
    return pyarrow.RecordBatch.from_arrays([*batch.columns, turns], names=[*batch.schema.names, into])
