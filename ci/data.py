"""Makes transcripts and measures the command on them: see ci/data.sh."""

import argparse
import json
import os
import pathlib
import platform
import random
import subprocess
import sys

import bindings
import pyarrow
import pyarrow.parquet

ROOT = pathlib.Path(__file__).parent.parent
PAGE = ROOT / "docs/DATA.md"
MIB = 1 << 20
WORDS = """the of and to in a is that for it as was with be by on not he this are or his from at which but have an they you were
their one all we can her has there been if more when will would who so no she other its may these what them than some him time
into only do such my new about out also two any up first could our then most see me should after people between must because
""".split()
HANZI = "今天晚上的流星雨观测安排已经发给大家请务必在零点之前回复确认谢谢配合我们先看云量再决定是否出发"


def prose(dice, words):
    """English, with some Chinese in one paragraph of eight."""
    text = " ".join(dice.choices(WORDS, k=words)).capitalize() + "."
    return text if dice.random() < 7 / 8 else text + "".join(dice.choices(HANZI, k=words)) + "。"


def call(dice):
    """A call in one of four formats."""
    name, city, days = dice.choice(["weather", "search", "write_file"]), prose(dice, 4), dice.randrange(9)
    code = "\n".join(f"    line_{n} = {prose(dice, 6)!r}" for n in range(dice.randrange(12)))
    arguments = json.dumps({"city": city, "days": days, "code": code}, ensure_ascii=False)
    pairs = [("city", city), ("days", days), ("code", code)]
    return dice.choice([
        lambda: f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>',
        lambda: f"<tool_call>\n<function={name}>\n" + "".join(f"<parameter={k}>\n{v}\n</parameter>\n" for k, v in pairs) + "</function>\n</tool_call>",
        lambda: f"<tool_call>{name}\n" + "".join(f"<arg_key>{k}</arg_key>\n<arg_value>{v}</arg_value>\n" for k, v in pairs) + "</tool_call>",
        lambda: f"[TOOL_CALLS]{name}[ARGS]{arguments}" if dice.random() < 0.5 else f'[TOOL_CALLS][{{"name": "{name}", "arguments": {arguments}}}]',
    ])()


def reply(dice):
    """A thought, prose and at most two calls; one in fifty is cut off."""
    thought = f"<think>{prose(dice, dice.randrange(200))}</think>\n" if dice.random() < 0.5 else ""
    calls = "\n".join(call(dice) for _ in range(dice.choice([0, 0, 1, 1, 2])))
    text = f"{thought}{prose(dice, dice.randrange(20, 250))}\n\n{calls}"
    return text[: dice.randrange(len(text))] if dice.random() < 1 / 50 else text


def talk(dice):
    """A conversation of ShareGPT's form."""
    messages = [{"from": "system", "value": prose(dice, 60)}]
    for _ in range(dice.randrange(1, 4)):
        messages += [{"from": "human", "value": prose(dice, 30)}, {"from": "gpt", "value": reply(dice)}]
    return messages


def pool(make):
    """Some thousand rows, which the files repeat: nothing is kept from one row to the next."""
    dice = random.Random(1)
    return [make(dice) for _ in range(4000)]


def lines(path, key, rows, size):
    """A file of JSON lines, with a number in each."""
    texts = [json.dumps({key: row}, ensure_ascii=False)[1:] + "\n" for row in rows]
    with open(path, "w", encoding="utf-8", buffering=MIB) as out:
        written, number = 0, 0
        while written < size:
            line = f'{{"id": {number}, {texts[number % len(texts)]}'
            written += len(line.encode())
            number += 1
            out.write(line)
    return number


def parquet(path, rows, count):
    """The same rows as Parquet."""
    whole = pyarrow.array(rows)
    schema = pyarrow.schema([("id", pyarrow.int64()), ("output", pyarrow.string())])
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as out:
        for start in range(0, count, len(rows)):
            part = whole.slice(0, min(len(rows), count - start))
            ids = pyarrow.array(range(start, start + len(part)))
            out.write_table(pyarrow.table([ids, part], schema=schema))


# A small process of its own: a child counts the memory of what started it.
TIMED = """
import os, subprocess, sys, time
started = time.monotonic()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def run(command):
    """Seconds, seconds of the processors, and MiB."""
    ran = subprocess.run([sys.executable, "-IS", "-c", TIMED, *map(str, command)], stdout=subprocess.PIPE, text=True, check=True)
    return [float(word) for word in ran.stdout.split()]


def cost(toolglot, folder):
    """Instructions a byte of `batch` and `stats` on one thread: a file of replies against one three times as long."""
    small, large = folder / "small.jsonl", folder / "large.jsonl"
    replies = pool(reply)
    for path, mib in ((small, 2), (large, 6)):
        lines(path, "input", replies, mib * MIB)
    more = large.stat().st_size - small.stat().st_size
    said = []
    for command in ("batch", "stats"):
        few, many = (bindings.count([toolglot, command, "--jobs", 1, path], folder)[0] for path in (small, large))
        said.append(f"`{command}` {(many - few) / more:.1f}")
    for path in (small, large, folder / "profile"):
        path.unlink()
    return ", ".join(said)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("toolglot")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--gib", type=float, default=1)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--instructions", action="store_true")
    args = parser.parse_args()
    if args.instructions:
        print("instructions a byte of the file:", cost(args.toolglot, args.folder))
        return
    folder, threads = args.folder, [int(word) for word in args.threads.split(",")]
    replies = pool(reply)
    makers = [
        ("replies.jsonl", lambda path: lines(path, "input", replies, args.gib * 2**30)),
        ("sharegpt.jsonl", lambda path: lines(path, "conversations", pool(talk), args.gib * 2**30)),
    ]
    table = ["| file | rows | GiB | command | threads | seconds | CPU seconds | rows a second | MiB a second | peak MiB | against one thread |", "|---|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|"]
    count = 0
    for name, make in [*makers, ("replies.parquet", None)]:
        path = folder / name
        if make:
            rows = make(path)
            count = count or rows
        else:
            rows = count
            parquet(path, replies, rows)
        size = path.stat().st_size
        field = [] if make else ["--field", "/output"]
        for command in ("batch", "stats"):
            first = None
            for jobs in threads:
                target = folder / f"out{path.suffix}"
                more = ["-o", target] if command == "batch" else []
                seconds, busy, memory = run([args.toolglot, command, "--jobs", jobs, *field, path, *more])
                target.unlink(missing_ok=True)
                first = first or seconds
                table.append(
                    f"| `{name}` | {rows:,} | {size / 2**30:.2f} | `{command}` | {jobs} | {seconds:.1f} | {busy:.1f} | {rows / seconds:,.0f}"
                    f" | {size / MIB / seconds:.0f} | {memory:.0f} | {first / seconds:.2f} |"
                )
                print(table[-1], flush=True)
        path.unlink()
    text = "\n".join(table) + "\n"
    if args.write:
        begin, end = "<!-- figures:begin -->\n", "<!-- figures:end -->"
        page = PAGE.read_text(encoding="utf-8")
        head, rest = page.split(begin)
        said = f"`ci/data.sh --gib {args.gib:g} --threads {args.threads}`, {os.cpu_count()} shared cores, {platform.machine()}:\n\n"
        PAGE.write_text(head + begin + said + text + end + rest.split(end)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
