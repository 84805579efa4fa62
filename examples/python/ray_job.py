"""A job of Ray Data: the calls in the model outputs of Parquet files, as Parquet with a row for each call.

    python ray_job.py outputs.parquet calls --column output --key id
"""

import argparse

import pyarrow as pa
import pyarrow.compute as pc
import ray
import toolglot.ray


def calls(batch: pa.Table, key: str) -> pa.Table:
    """The calls that can be run without asking anyone, each with the key of its row."""
    lists = pc.struct_field(batch.column("turn").combine_chunks(), "calls")
    found, rows = pc.list_flatten(lists), pc.list_parent_indices(lists)
    names = ("name", "arguments", "state", "dialect")
    table = pa.table({key: batch.column(key).take(rows), **{name: pc.struct_field(found, name) for name in names}})
    return table.filter(pc.field("state") != "recovered")


def main():
    asked = argparse.ArgumentParser(description="Writes the calls in model outputs.")
    asked.add_argument("source")
    asked.add_argument("target")
    asked.add_argument("--column", default="output", help="the column of the outputs [default: output]")
    asked.add_argument("--key", default="id", help="the column that names a row [default: id]")
    given = asked.parse_args()
    outputs = ray.data.read_parquet(given.source, columns=[given.key, given.column])
    turns = toolglot.ray.parse(outputs, given.column, columns=["calls"])
    turns.map_batches(calls, fn_kwargs={"key": given.key}, batch_format="pyarrow").write_parquet(given.target)
    print(ray.data.read_parquet(given.target).count(), "calls")


if __name__ == "__main__":
    main()
