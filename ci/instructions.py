#!/usr/bin/env python3
"""Puts callgrind's counts beside the lines of benches/instructions.rs and judges them.

Usage: ci/instructions.py FOLDER [--record] [--all]

FOLDER holds `lines` (what the bench printed) and `profile.1`, `profile.2`, ... (one profile for each line). Prints
instructions per chunk and per byte, and how total costs grow. Ends with status 1 if

* a cost more than doubles (2.05) when an input doubles,
* the cost of an argument grows with an exponent of more than 1.01 from the smallest to the largest,
* a chunk costs more than its line in ci/instructions.budget allows.

`--record` writes that file anew: what was measured and a tenth more. `--all` prints every doubling, not only the worst.
"""

import collections
import math
import pathlib
import sys

BUDGET = pathlib.Path(__file__).resolve().parent / "instructions.budget"
MAX_DOUBLING = 2.05
MAX_EXPONENT = 1.01
MARGIN = 1.10
HEAD = """# Instructions that a chunk may cost, written by `ci/instructions.sh --record`: what was measured and a tenth more.
# A larger number needs a reason in the commit that records it.
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
    """Instructions per chunk and byte: of twice the text less those of the text once."""
    once = {}
    print("## Instructions of a chunk\n")
    print("| case | bytes/chunk | per chunk | per byte |\n|---|---|---|---|")
    costs = {}
    for what, name, size, length, cost in calls:
        if what != "twice":
            continue
        if name not in once:
            once[name] = (size, length, cost)
            continue
        first = once.pop(name)
        size, length, cost = (b - a for a, b in zip(first, (size, length, cost)))
        costs[name] = cost / size
        print(f"| {name} | {length / size:.1f} | {cost / size:.1f} | {cost / length:.3f} |")
    return costs


def judge(costs, record):
    if record:
        lines = [f"{name} {cost * MARGIN:.1f}\n" for name, cost in costs.items()]
        BUDGET.write_text(HEAD + "".join(lines), encoding="utf-8")
        print(f"\nrecorded {len(lines)} budgets")
        return []
    faults = []
    budget = {}
    for line in BUDGET.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, most = line.split()
            budget[name] = float(most)
    for name, cost in costs.items():
        if name not in budget:
            faults.append(f"{name}: it has no budget; run ci/instructions.sh --record")
        elif cost > budget[name]:
            faults.append(f"{name}: {cost:.1f} instructions a chunk, {budget[name]:.1f} are allowed")
    return faults


def growth(calls, verbose):
    """How the total cost grows while the size doubles."""
    series = collections.defaultdict(list)
    for what, name, size, length, cost in calls:
        if what.startswith("grow-"):
            series[name].append((size, length, cost))
    print("\n## Growth\n\nThe worst doubling of each input, and the exponent from its smallest to its largest size.\n")
    print("| input | sizes | instructions/byte at the largest | worst doubling | exponent |\n|---|---|---|---|---|")
    faults = []
    rows = []
    for name, points in series.items():
        # A size may be missed by part of a pattern: per byte the comparison is fair.
        per_byte = [cost / length for _, length, cost in points]
        doubling = max(2 * b / a for a, b in zip(per_byte, per_byte[1:]))
        exponent = 1 + math.log(per_byte[-1] / per_byte[0], 2) / math.log(points[-1][0] / points[0][0], 2)
        rows.append((doubling, f"| {name} | {points[0][0]}..{points[-1][0]} | {per_byte[-1]:.1f} | {doubling:.3f} | {exponent:.3f} |"))
        if doubling > MAX_DOUBLING:
            faults.append(f"{name}: the cost grows {doubling:.2f}-fold when the input doubles")
        if name.startswith("argument/") and exponent > MAX_EXPONENT:
            faults.append(f"{name}: the cost grows with an exponent of {exponent:.3f}")
    rows.sort(reverse=True)
    for _, row in rows if verbose else rows[:25]:
        print(row)
    if not verbose and len(rows) > 25:
        print(f"\n{len(rows) - 25} more, all below {rows[24][0]:.3f}")
    return faults


def main():
    folder = pathlib.Path(sys.argv[1])
    calls = list(read(folder))
    costs = chunks(calls)
    faults = judge(costs, "--record" in sys.argv) + growth(calls, "--all" in sys.argv)
    print()
    for fault in faults:
        print(f"FAIL {fault}")
    if not faults:
        print("within every bound")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
