#!/usr/bin/env python3
"""Combines callgrind's counts with the lines of benches/instructions.rs and judges them.

Usage: ci/instructions.py FOLDER [--record] [--all]; ignores the arguments of ci/instructions.sh

FOLDER holds `lines` (what the bench printed) and `profile.1`, `profile.2`, ... (one profile for each line). Prints
instructions per chunk and per byte, those of what happens once, and how total costs grow. Ends with status 1 if

* a cost grows more than 2.05-fold when an input doubles (and, where there are at least four sizes, with an exponent of
  more than 1.01 over all of them and over the last three),
* the cost of an argument grows with an exponent of more than 1.01 from the smallest to the largest of at least four
  sizes,
* a chunk costs more than its line in ci/instructions.budget allows,
* a byte of a stream that is nothing but one marker costs more than MOST_A_BYTE.

`--record` writes that file anew: what was measured and 5 percent more, but never more than before. `--all` prints every doubling, not only the worst.
"""

import collections
import math
import pathlib
import sys

BUDGET = pathlib.Path(__file__).resolve().parent / "instructions.budget"
MAX_DOUBLING = 2.05
MAX_EXPONENT = 1.01
MARGIN = 1.05
# Instructions per byte that a doubling may add: whether and when a growing buffer is copied is up to the allocator. A copy
# costs at most one instruction per byte, and both a block and a value in it may be copied.
MOVE = 2.0
LEAST = 0.1
# An exponent needs at least this many sizes: over two doublings of small inputs it reflects the header.
LEAST_POINTS = 3
# Maximum instructions per byte of a flood of one marker.
MOST_A_BYTE = 8900
HEAD = """# Instructions that a chunk may cost, written by `ci/instructions.sh --record`: what was measured and 5 percent more,
# but never more than before. Larger numbers are written by hand, with the reason in the commit.
"""


def count(path):
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("totals: "):
            return int(line.split()[1])
    sys.exit(f"{path}: no totals")


def read(folder):
    """(what, name, size, bytes, instructions) of every measured call, in order."""
    lines = [line.split() for line in (folder / "lines").read_text().splitlines() if line]
    profiles = len(list(folder.glob("profile.*")))
    if profiles != len(lines):
        sys.exit(f"{len(lines)} lines and {profiles} profiles: callgrind did not see every call")
    for number, (what, name, size, length) in enumerate(lines, 1):
        yield what, name, int(size), int(length), count(folder / f"profile.{number}")


def chunks(calls):
    """Instructions per chunk and per byte: those for twice the text minus those for the text once."""
    once = {}
    print("## Instructions of a chunk\n")
    print("| case | bytes/chunk | per chunk | per byte |\n|---|---|---|---|")
    costs = {}
    for what, name, size, length, cost in calls:
        if what == "once":
            costs[name] = cost
            print(f"| {name} | | {cost} | |")
        if what != "twice":
            continue
        if name not in once:
            once[name] = (size, length, cost)
            continue
        first = once.pop(name)
        size, length, cost = (b - a for a, b in zip(first, (size, length, cost)))
        if not name.startswith("yardstick/"):
            costs[name] = cost / size
        print(f"| {name} | {length / size:.1f} | {cost / size:.1f} | {cost / length:.3f} |")
    return costs


def judge(costs, record):
    budget = {}
    for line in BUDGET.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, most = line.split()
            budget[name] = float(most)
    if record:
        most = {name: min(cost * MARGIN, budget.get(name, cost * MARGIN)) for name, cost in costs.items()}
        lines = [f"{name} {most:.1f}\n" for name, most in (budget | most).items()]
        BUDGET.write_text(HEAD + "".join(lines), encoding="utf-8")
        print(f"\nrecorded {len(lines)} budgets")
        return []
    faults = []
    for name, cost in costs.items():
        if name not in budget:
            faults.append(f"{name}: it has no budget; run ci/instructions.sh --record")
        elif cost > budget[name]:
            faults.append(f"{name}: {cost:.1f} instructions a chunk, {budget[name]:.1f} are allowed")
    return faults


def growth(calls, verbose):
    """How the total cost grows while the length doubles.

    Each doubling is judged twice: by total costs, and by what it adds compared with what the previous doubling added. Only
    the smaller of both counts. A part that does not repeat (a header, bytes after a limit) distorts the first, a buffer or
    table that grows by doubling distorts the second, and superlinear growth shows in both. Lengths are not exactly doubled,
    so costs are taken per byte.
    """
    series = collections.defaultdict(list)
    for what, name, _, length, cost in calls:
        if what == "grow":
            series[name].append((length, cost))
    print("\n## Growth: the largest step while the input doubles, and the exponent over all steps\n")
    print("| input | bytes | instructions/byte, whole | at the end | largest step | exponent |\n|---|---|---|---|---|---|")
    faults = []
    rows = []
    for name, points in series.items():
        whole = [cost / length for length, cost in points[1:]]
        added = [(d - b) / (c - a) for (a, b), (c, d) in zip(points, points[1:])]
        both = [(steps(costs), min(exponent(costs), exponent(costs[-LEAST_POINTS:]))) for costs in (whole, added)]
        largest, power = max(map(min, both[0][0], both[1][0])), min(both[0][1], both[1][1])
        (start, _), (end, total) = points[0], points[-1]
        cells = f"{name} | {start}..{end} | {total / end:.1f} | {added[-1]:.1f} | {largest:.3f} | {power:.3f}"
        rows.append((largest, f"| {cells} |"))
        # A single large step is a buffer or a table that grows; superlinear growth shows in the exponent too.
        many = len(points) > LEAST_POINTS
        if largest > MAX_DOUBLING and (not many or power > MAX_EXPONENT):
            faults.append(f"{name}: the cost grows {largest:.2f}-fold when the input doubles")
        if name.startswith("argument/") and many and power > MAX_EXPONENT:
            faults.append(f"{name}: the cost grows with an exponent of {power:.3f}")
    rows.sort(reverse=True)
    for _, row in rows if verbose else rows[:25]:
        print(row)
    if not verbose and len(rows) > 25:
        print(f"\n{len(rows) - 25} more, none above {rows[24][0]:.3f}")
    return faults


def each_byte(calls, verbose):
    """The cost of a byte where one marker floods the stream."""
    rows = [(cost / length, name) for what, name, _, length, cost in calls if what == "bytes"]
    if not rows:
        return []
    rows.sort(reverse=True)
    print(f"\n## Floods of one marker: the dearest of {len(rows)}\n")
    print("| input | instructions/byte |\n|---|---|")
    for cost, name in rows if verbose else rows[:25]:
        print(f"| `{name}` | {cost:.0f} |")
    dear = [row for row in rows if row[0] > MOST_A_BYTE]
    return [f"{name}: {cost:.0f} instructions a byte, {MOST_A_BYTE} are allowed" for cost, name in dear]


def steps(costs):
    """Growth of the total at each doubling, from costs per byte, without the cost of a buffer that happens to move."""
    return [2 * max(a, b - MOVE) / a if b > a else 2 * b / a for a, b in zip(costs, costs[1:])]


def exponent(costs):
    """The exponent with which the total grows with the length. After a limit the increase may be negative."""
    first, last = max(costs[0], LEAST), max(costs[-1], LEAST)
    return 1 + math.log(last / first, 2) / (len(costs) - 1)


def main():
    folder = pathlib.Path(sys.argv[1])
    calls = list(read(folder))
    costs = chunks(calls)
    verbose = "--all" in sys.argv
    faults = judge(costs, "--record" in sys.argv) + growth(calls, verbose) + each_byte(calls, verbose)
    print()
    for fault in faults:
        print(f"FAIL {fault}")
    if not faults:
        print("within every bound")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
