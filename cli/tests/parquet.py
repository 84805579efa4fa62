"""Parquet files of other writers, read by the command: their turns are those of the same records as JSONL, and no column changes.

    parquet.py TOOLGLOT FOLDER
"""

import json
import pathlib
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq

TOOLGLOT, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1, "城": "北京"}}\n</tool_call>'

# The records, and the options that say where their texts are.
TABLES = {
    "input": ([{"id": n, "input": text} for n, text in enumerate(["Hi " + CALL, "你好", ""])], []),
    "messages": (
        [
            {"id": "a", "messages": [{"role": "user", "content": CALL}, {"role": "assistant", "content": CALL}]},
            {"id": "b", "messages": []},
            {"id": "c", "messages": [{"role": "assistant", "content": "答 " + CALL}, {"role": "assistant", "content": None}]},
        ],
        [],
    ),
    "conversations": ([{"conversations": [{"from": "human", "value": "x"}, {"from": "gpt", "value": CALL + CALL}]}], []),
    "field": ([{"text": "Hi " + CALL, "n": 7}, {"text": None, "n": None}, {"text": "<tool_call>\n{\"na", "n": 1}], ["--field", "/text"]),
    "many": ([{"input": f"{n} {CALL}", "tags": [{"k": str(n)}]} for n in range(5000)], []),
}
CODECS = ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]


def run(*arguments, status=0):
    done = subprocess.run([TOOLGLOT, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done.stdout


def turns_of(record):
    """The turns of a record in either form; of a whole record that is one output, its only one."""
    return [
        (
            turn["text"],
            turn["reasoning"],
            [(call["name"], call["state"], call["arguments"]) for call in turn["calls"]],
            [error["kind"] for error in turn["errors"]],
        )
        for turn in (record["turns"] if "turns" in record else [record])
    ]


def typed(turns):
    """Columns hold arguments as JSON text."""
    return [
        (text, thought, [(name, state, json.loads(arguments) if isinstance(arguments, str) else arguments) for name, state, arguments in calls], kinds)
        for text, thought, calls, kinds in turns
    ]


for name, (records, options) in TABLES.items():
    lines = FOLDER / f"{name}.jsonl"
    lines.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
    want = [json.loads(line) for line in run("batch", lines, *options).splitlines()]
    for codec in CODECS if name == "messages" else CODECS[3:4]:
        file, made = FOLDER / f"{name}.parquet", FOLDER / f"{name}-turns.parquet"
        table = pa.Table.from_pylist(records)
        pq.write_table(table, file, compression=codec, row_group_size=1000)
        got = [json.loads(line) for line in run("batch", file, *options).splitlines()]
        assert [typed(turns_of(one)) for one in got] == [typed(turns_of(one)) for one in want], (name, codec)
        run("batch", file, *options, "-o", made)
        columns = pq.read_table(made)
        assert columns.num_rows == len(records)
        assert columns.select(table.column_names).to_pylist() == table.to_pylist(), (name, codec)
        assert [typed(turns_of(one)) for one in columns.to_pylist()] == [typed(turns_of(one)) for one in want], (name, codec)
        counts = json.loads(run("stats", file, *options, "--output", "json"))
        same = json.loads(run("stats", lines, *options, "--output", "json"))
        for count in (counts, same):
            (count["files"][0] if "files" in count else count).pop("file")
        assert counts == same, (name, counts, same)
        print(name, codec, len(records), "records")

# What is no Parquet file, or would be overwritten while it is read, is refused.
whole = (FOLDER / "messages.parquet").read_bytes()
cut = FOLDER / "cut.parquet"
cut.write_bytes(whole[:200])
run("batch", cut, status=2)
run("batch", FOLDER / "messages.parquet", "-o", FOLDER / "messages.parquet", status=2)
assert (FOLDER / "messages.parquet").read_bytes() == whole
# So is a column in the place of the result.
run("batch", FOLDER / "messages-turns.parquet", "-o", FOLDER / "twice.parquet", status=2)
assert not (FOLDER / "twice.parquet").exists()
