"""A step for Ray Data."""

from __future__ import annotations

from typing import Any

from . import arrow
from ._native import Engine

__all__ = ["ParseCalls", "parse"]


class ParseCalls:
    """Adds a column of turns to each batch. For `map_batches(ParseCalls, fn_constructor_args=(...), batch_format="pyarrow")`."""

    def __init__(self, column: str, into: str = "turn", engine: Engine | None = None, **options: Any) -> None:
        """`column` holds the transcripts, `into` names the new column; `options` are those of `toolglot.arrow.parse`."""
        self.column: str = column
        self.into: str = into
        self.engine: Engine = engine or Engine()
        self.options: dict[str, Any] = options

    def __call__(self, batch: Any) -> Any:
        """Returns the batch with its turns."""
        import pyarrow

        turns = pyarrow.array(arrow.parse(batch.column(self.column), self.engine, **self.options))
        return batch.append_column(self.into, turns)


def parse(dataset: Any, column: str, into: str = "turn", engine: Engine | None = None, *, batch_size: int = 4096, **options: Any) -> Any:
    """Returns the dataset with a column of turns.

        toolglot.ray.parse(ray.data.read_parquet("outputs"), "output").write_parquet("turns")
    """
    step = ParseCalls(column, into, engine, **options)

    def turns(batch: Any) -> Any:
        return step(batch)

    return dataset.map_batches(turns, batch_format="pyarrow", zero_copy_batch=True, batch_size=batch_size)
