#!/usr/bin/env python3
"""Runs real local jobs of data engines over a file of transcripts: run.py FOLDER ENGINE...

Prints rows, megabytes of transcripts, seconds of the job, and seconds of parsing alone in this process. Compares the turn of
every row with that of the parser without an engine.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import toolglot
import toolglot.arrow

ROOT = Path(__file__).parents[4]
ROWS = 20_000
PARSER = toolglot.Engine()


def transcripts():
    """Outputs of the vectors in the default set, amid prose; some rows are null."""
    lot = random.Random(1)
    own = set(PARSER.dialects)
    prose = (ROOT / "benches" / "data" / "english.txt").read_text(encoding="utf-8")
    outputs = []
    for file in sorted((ROOT / "tests" / "vectors").glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").split("\n"):
            vector = json.loads(line) if line.strip() else {}
            if "input" in vector and vector["dialect"] in own:
                outputs.append(vector["input"])
    for _ in range(ROWS):
        at = lot.randrange(len(prose) - 2000)
        text = prose[at : at + lot.randrange(2000)] + "\n" + lot.choice(outputs)
        yield None if lot.random() < 0.01 else text


def in_ray(path):
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    import toolglot.ray

    ray.init(num_cpus=2, include_dashboard=False, object_store_memory=256 << 20, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    begun = time.perf_counter()
    turns = toolglot.ray.parse(ray.data.read_parquet(str(path)), "output", engine=PARSER)
    rows = [batch for batch in turns.iter_batches(batch_format="pyarrow", batch_size=4096)]
    seconds = time.perf_counter() - begun
    ray.shutdown()
    table = pa.concat_tables(rows).sort_by("n")
    return table.column("turn").combine_chunks(), seconds, ray.__version__


def in_daft(path):
    import daft
    import toolglot.daft

    begun = time.perf_counter()
    frame = daft.read_parquet(str(path)).with_column("turn", toolglot.daft.parse("output", PARSER))
    table = frame.sort("n").to_arrow()
    return table.column("turn").combine_chunks(), time.perf_counter() - begun, daft.__version__


def in_spark(path):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    import pyspark
    import toolglot.spark
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    begun = time.perf_counter()
    frame = toolglot.spark.parse(spark.read.parquet(str(path)), "output", engine=PARSER)
    table = frame.orderBy("n").toArrow()
    seconds = time.perf_counter() - begun
    spark.stop()
    return table.column("turn").combine_chunks(), seconds, pyspark.__version__


def ray_example(path, target, wanted):
    """The program of `examples` finds the calls that the parser finds."""
    shutil.rmtree(target, ignore_errors=True)
    example = ROOT / "examples" / "python" / "ray_job.py"
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    subprocess.run([sys.executable, example, path, target, "--key", "n"], check=True, env=environment, timeout=600)
    found = parquet.read_table(target).to_pylist()
    calls = [(n, call) for n, turn in enumerate(wanted) for call in (turn or {}).get("calls", ())]
    asked = [(n, call["name"], call["arguments"]) for n, call in calls if call["state"] != "recovered"]
    if sorted((row["n"], row["name"], row["arguments"]) for row in found) != sorted(asked):
        sys.exit("the example finds other calls")


def main():
    folder, *engines = sys.argv[1:]
    path = Path(folder) / "outputs.parquet"
    table = pa.table({"n": list(range(ROWS)), "output": list(transcripts())})
    parquet.write_table(table, path, row_group_size=4096)
    size = table.column("output").nbytes / 1e6
    begun = time.perf_counter()
    wanted = pa.array(toolglot.arrow.parse(table.column("output"), PARSER))
    alone = time.perf_counter() - begun
    wanted, calls = wanted.to_pylist(), sum(len(turn["calls"]) for turn in wanted.to_pylist() if turn)
    print(f"toolglot.arrow alone: {ROWS} rows, {size:.1f} MB, {calls} calls, {alone:.2f} s, {size / alone:.0f} MB/s")
    for engine in engines:
        turns, seconds, version = globals()[f"in_{engine}"](path)
        found = turns.to_pylist()
        # An engine may represent a null struct as one whose fields are null.
        same = all(a == b or (b is None and not any((a or {}).values())) for a, b in zip(found, wanted))
        if len(found) != ROWS or not same:
            sys.exit(f"{engine}: the turns differ")
        print(f"{engine} {version}: {ROWS} rows in {seconds:.2f} s, every turn the same")
    if "ray" in engines:
        ray_example(path, Path(folder) / "calls", wanted)


if __name__ == "__main__":
    main()
