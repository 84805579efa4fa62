#!/usr/bin/env python3
"""How a job of Ray Data scales: scale.py FOLDER [ROWS]

Makes a file of transcripts (those of ci/data.py) and reads it in a cluster of one node and in one of two. A node is a process of Ray
on this machine with one processor, its own store of objects and its own worker. Each job writes its turns as Parquet; prints seconds,
rows a second, and the peak memory of the workers that parse.
"""

import os
import shutil
import sys
import threading
import time
from pathlib import Path

import pyarrow.parquet as parquet

ROOT = Path(__file__).parents[4]
sys.path.insert(0, str(ROOT / "ci"))
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_DATA_DISABLE_PROGRESS_BARS"] = "1"

import data  # noqa: E402
import ray  # noqa: E402
import ray.cluster_utils  # noqa: E402
import toolglot.ray  # noqa: E402

STORE = 256 << 20


class Peak(threading.Thread):
    """The largest sum of resident memory of Ray's workers; shared memory, the store of objects, is not in it."""

    def __init__(self):
        super().__init__(daemon=True)
        self.bytes, self.done = 0, threading.Event()

    def run(self):
        while not self.done.wait(0.2):
            self.bytes = max(self.bytes, sum(map(private, Path("/proc").glob("[0-9]*"))))

    def __exit__(self, *_):
        self.done.set()
        self.join()

    def __enter__(self):
        self.start()
        return self


def private(process):
    """Bytes of one worker that are its own; 0 for any other process."""
    try:
        if not (process / "cmdline").read_bytes().startswith(b"ray::"):
            return 0
        _, resident, shared, *_ = map(int, (process / "statm").read_text().split())
    except (OSError, ValueError):
        return 0
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def job(path, turns, nodes):
    """Seconds and peak bytes of a job on so many nodes."""
    cluster = ray.cluster_utils.Cluster()
    for _ in range(nodes):
        cluster.add_node(num_cpus=1, object_store_memory=STORE, include_dashboard=False)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    cluster.wait_for_nodes()
    shutil.rmtree(turns, ignore_errors=True)
    begun = time.perf_counter()
    with Peak() as peak:
        toolglot.ray.parse(ray.data.read_parquet(str(path)), "output").write_parquet(str(turns))
    seconds = time.perf_counter() - begun
    ray.shutdown()
    cluster.shutdown()
    return seconds, peak.bytes


def main():
    folder, rows = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 400_000
    path, turns = folder / "scale.parquet", folder / "turns"
    pool = data.pool(data.reply)
    data.parquet(path, pool, rows)
    size = sum(len(text.encode()) for text in pool) / len(pool) * rows / data.MIB
    print(f"Ray {ray.__version__}, {rows:,} rows, {size:,.0f} MiB of transcripts\n")
    print("| nodes | seconds | rows a second | MiB a second | peak MiB of the workers | against one node |\n|--:|--:|--:|--:|--:|--:|")
    first = None
    for nodes in (1, 2):
        seconds, peak = job(path, turns, nodes)
        have = sum(parquet.ParquetFile(part).metadata.num_rows for part in turns.glob("*.parquet"))
        if have != rows:
            sys.exit(f"{have} of {rows} turns were written")
        first = first or seconds
        cells = f"{nodes} | {seconds:.1f} | {rows / seconds:,.0f} | {size / seconds:,.0f} | {peak / data.MIB:,.0f} | {first / seconds:.2f}"
        print(f"| {cells} |", flush=True)
    shutil.rmtree(turns)
    path.unlink()


if __name__ == "__main__":
    main()
