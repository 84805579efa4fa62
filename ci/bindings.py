#!/usr/bin/env python3
"""Counts the cost of a chunk through each binding; ci/bindings.sh builds the programs and runs this.

Usage: ci/bindings.py FOLDER [--record] [--python PROGRAM]

Runs each program under callgrind with some chunks and with twice as many. The difference per chunk is the cost of a chunk: the
call, its events, and the loop that reads their lengths. Of Python's rows the cost of the loop is subtracted, in which `len` takes the
place of the call. All programs must have read the same events. Status 1: a chunk costs more than its line in ci/bindings.budget
allows.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUDGET = ROOT / "ci/bindings.budget"
PAGE = ROOT / "docs/BINDINGS.md"
BENCH = ROOT / "benches/bindings"
MARGIN = 1.10
# Compiling dialects varies by some 100,000 instructions with the seeds of hash tables: less than 2 per chunk with this many.
TIMES = 48
# The row with the minimum cost. It has no budget.
NOTHING = "null call"
# The loop of the rows for Python, which is subtracted from them.
LOOP = "Python, loop"
# The row of streams of which each reads its share of the text, so their events are others; `tests/test_many.py` compares them.
MANY = "Python, feed_many"
HEAD = """# Instructions that a chunk of 4 bytes may cost through a binding, written by `ci/bindings.sh --record`: what was measured
# and a tenth more. A larger number needs a reason in the commit that records it.
"""
TEXT = (ROOT / "benches/data/english.txt").read_text(encoding="utf-8")
PROSE = " ".join(TEXT.replace('"', "'").replace("\\", "/").split())
# The text before, and the repeated text: its length is a multiple of 4, so that it is chunked alike every time.
CASES = {
    "text": ("", PROSE),
    "JSON argument": ('<tool_call>\n{"name": "write", "arguments": {"content": "', PROSE),
    "XML argument": ('<tool_call name="write"><param name="content">', PROSE),
}


def rows(folder, python):
    """Names, which are keys of the budget, and commands."""
    yield NOTHING, [folder / "c", "null"]
    yield "Rust", [folder / "direct"]
    yield "C, batch", [folder / "c", "batch"]
    yield "C, callback", [folder / "c", "callback"]
    yield "C++", [folder / "cpp"]
    if python:
        yield LOOP, [python, BENCH / "bench.py", "loop"]
        yield "Python, bytes", [python, BENCH / "bench.py", "bytes"]
        yield "Python, str", [python, BENCH / "bench.py", "str"]
        yield MANY, [python, BENCH / "bench.py", "many"]


def count(command, work):
    """Returns (instructions, the program's output)."""
    tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={work}/profile"]
    # Besides the program, a count could depend only on the environment.
    environment = {"PYTHONHASHSEED": "0", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    run = subprocess.run([*tool, *map(str, command)], capture_output=True, text=True, env=environment)
    if run.returncode != 0:
        sys.exit(f"{command}: status {run.returncode}\n{run.stdout}{run.stderr}")
    totals = re.search(r"^(?:totals|summary): (\d+)", (work / "profile").read_text(errors="replace"), re.M)
    return int(totals[1]), run.stdout.strip()


def measure(command, before, repeated, chunks, work):
    once, _ = count([*command, before, repeated, TIMES], work)
    twice, said = count([*command, before, repeated, 2 * TIMES], work)
    return (twice - once) / (TIMES * chunks), said


def table(folder, python, work):
    """Returns {(row, case): instructions}, with the rows in order."""
    costs = {}
    for case, (before, repeated) in CASES.items():
        repeated = (repeated * (-(-16384 // len(repeated))))[:16384]
        (work / "before").write_text(before, encoding="utf-8")
        (work / "repeated").write_text(repeated, encoding="utf-8")
        seen = {}
        for name, command in rows(folder, python):
            cost, said = measure(command, work / "before", work / "repeated", len(repeated) // 4, work)
            costs[name, case] = cost
            if name not in (NOTHING, MANY):
                seen.setdefault(said, []).append(name)
        if len(seen) != 1:
            sys.exit(f"{case}: the programs did not read the same events: {seen}")
        if python:
            loop = costs.pop((LOOP, case))
            for name in ("Python, bytes", "Python, str"):
                costs[name, case] -= loop
    return costs


def lines(costs):
    names = list(dict.fromkeys(name for name, _ in costs))
    yield "| | " + " | ".join(CASES) + " |"
    yield "|---|" + "---:|" * len(CASES)
    for name in names:
        yield f"| {name} | " + " | ".join(f"{costs[name, case]:.0f}" for case in CASES) + " |"


def record(costs):
    # Rows that were not measured now keep their numbers.
    shown = costs | {key: most / MARGIN for key, most in budget().items() if key not in costs}
    keys = [(name, case) for name in dict.fromkeys(name for name, _ in shown) for case in CASES if name != NOTHING]
    text = "".join(f"{name} / {case}: {shown[name, case] * MARGIN:.1f}\n" for name, case in keys)
    BUDGET.write_text(HEAD + text, encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    begin, end = "<!-- table: ci/bindings.sh -->\n", "<!-- end of table -->"
    head, rest = page.split(begin)
    body = "\n".join(lines(shown))
    PAGE.write_text(head + begin + body + "\n" + end + rest.split(end)[1], encoding="utf-8")


def budget():
    if not BUDGET.exists():
        return {}
    most = {}
    for line in BUDGET.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            key, number = line.rsplit(": ", 1)
            most[tuple(key.split(" / "))] = float(number)
    return most


def judge(costs):
    most = budget()
    for key, cost in costs.items():
        if key[0] == NOTHING:
            continue
        if key not in most:
            yield f"{' / '.join(key)}: it has no budget; run ci/bindings.sh --record"
        elif cost > most[key]:
            yield f"{' / '.join(key)}: {cost:.1f} instructions a chunk, {most[key]:.1f} are allowed"


def main():
    arguments = sys.argv[1:]
    python = arguments[arguments.index("--python") + 1] if "--python" in arguments else None
    with tempfile.TemporaryDirectory() as work:
        costs = table(pathlib.Path(arguments[0]), python, pathlib.Path(work))
    print("\n".join(lines(costs)))
    if "--record" in arguments:
        record(costs)
    faults = list(judge(costs))
    for fault in faults:
        print(f"FAIL {fault}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
