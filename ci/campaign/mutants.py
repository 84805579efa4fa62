#!/usr/bin/env python3
"""Changes the code in one place at a time (cargo-mutants) and sees whether a test fails.

  ci/campaign/mutants.py --count 40              judges forty more, spread over all areas
  ci/campaign/mutants.py --count 10 scan check   the same for two areas
  ci/campaign/mutants.py --again                 judges again what no test noticed
  ci/campaign/mutants.py --sum                   what was judged; writes it into docs/TRUST.md

The order is a fixed shuffle of all possible changes, so that any number of them is a random sample. Each is judged by the unit tests of its
package, and if they pass, by the tests of the library's laws. Results are appended to ci/campaign/mutants.jsonl, and a run that is interrupted
goes on from there. A change that no test notices is a gap in the tests, or has its own heading in ci/campaign/MUTANTS.md with the reason why
it changes nothing that matters. The tests are built in a copy of the last commit, in target/mutated/.
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import fuzz

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = pathlib.Path(__file__).resolve().parent
LEDGER, REASONS = HERE / "mutants.jsonl", HERE / "MUTANTS.md"
WORK = ROOT / "target" / "mutated"
TREE = WORK / "tree"
VERSION = "27.1.0"
# Those tests of the library's laws that read every vector; the others take minutes in a build that is not optimised.
LAWS = ["toolglot-suite", "vectors::", "on_every_vector"]
# Of each area: its files, and packages whose tests judge it, one after the other, perhaps with the names of some tests.
AREAS = {
    "scan": (["scan/src/**/*.rs"], [["toolglot-scan"], ["toolglot"], LAWS]),
    "engine": (["src/engine/**/*.rs"], [["toolglot"], LAWS]),
    "body": (["src/body/**/*.rs"], [["toolglot"], LAWS]),
    "schema": (["src/schema/**/*.rs"], [["toolglot"], ["toolglot-tools"], LAWS]),
    "check": (["tools/src/check.rs"], [["toolglot-tools"]]),
}
ENVIRONMENT = {
    **os.environ,
    "CARGO_TARGET_DIR": str(WORK / "target"),
    "CARGO_INCREMENTAL": "1",
    "TOOLGLOT_SPLITS": "0",
    "PROPTEST_CASES": "16",
    "PROPTEST_RNG_SEED": "1",
}
# To optimise takes longer than the tests gain by it.
PROFILE = """[profile.test]
opt-level = 0
[profile.test.package]
toolglot = { opt-level = 0 }
toolglot-scan = { opt-level = 0 }
"""
# cargo-mutants selects these whatever name is asked for.
UNNAMED = "delete field"
# Seconds after which a change is said to hang the tests.
PATIENCE = 400


def out(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


def lines():
    return [json.loads(line) for line in LEDGER.read_text().splitlines()] if LEDGER.exists() else []


def last():
    """The last judgement of each change."""
    return {line["mutant"]: line for line in lines()}


def install():
    script = f'. ci/lib.sh; share_target; cargo_tool cargo-mutants {VERSION} >&2 || exit; echo "$tool"'
    run = subprocess.run(["bash", "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        sys.exit(run.returncode)
    return run.stdout.strip()


def check_out():
    """Brings the copy to the last commit. Only files that differ are written, so that the rest need not be built again."""
    commit = out("git", "rev-parse", "--short=8", "HEAD", cwd=ROOT).strip()
    if not TREE.exists():
        WORK.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "-q", "--shared", ROOT, TREE], check=True)
    subprocess.run(["git", "fetch", "-q", ROOT, "HEAD"], cwd=TREE, check=True)
    subprocess.run(["git", "checkout", "-q", "-f", "--detach", "FETCH_HEAD"], cwd=TREE, check=True)
    (TREE / ".cargo").mkdir(exist_ok=True)
    (TREE / ".cargo" / "config.toml").write_text(PROFILE)
    return commit


def possible(tool, area):
    """All changes of an area, shuffled. A change keeps its place as long as its line stays."""
    globs = [part for glob in AREAS[area][0] for part in ("--file", glob)]
    names = out(tool, "mutants", "--list", "--workspace", *globs, cwd=TREE).splitlines()
    names = [name for name in names if not re.search(rf"/tests?[./]|impl (Debug|Display)|{UNNAMED}", name)]
    return sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())


def judge(tool, mutant, package, *tests):
    """One change and one set of tests: caught, missed, timeout or unviable."""
    command = [
        tool, "mutants", "--workspace", "--in-place", "--no-shuffle", "--baseline=skip", f"--timeout={PATIENCE}", "--re", f"^{re.escape(mutant)}$",
        "--exclude-re", UNNAMED, "--file", mutant.split(":")[0],
        "--output", WORK / "log", "--cargo-arg=--lib", f"--test-package={package}", "--", "--", *tests,
    ]  # fmt: skip
    run = subprocess.run(list(map(str, command)), cwd=TREE, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    found = json.loads((WORK / "log" / "mutants.out" / "outcomes.json").read_text())
    for outcome in ("caught", "missed", "timeout", "unviable"):
        if found[outcome]:
            return outcome
    sys.exit(f"not judged: {mutant}\n{run.stdout[-2000:]}")


def settle(tool, commit, area, mutant):
    began = time.monotonic()
    for judges in AREAS[area][1]:
        outcome = judge(tool, mutant, *judges)
        if outcome != "missed":
            break
    line = {
        "date": fuzz.today(), "commit": commit, "area": area,
        "mutant": mutant, "outcome": outcome, "by": judges[0], "seconds": round(time.monotonic() - began),
    }  # fmt: skip
    with LEDGER.open("a") as ledger:
        ledger.write(json.dumps(line) + "\n")
    print(f"{outcome} after {line['seconds']} s: {mutant}", flush=True)


def reasons():
    return set(re.findall(r"^## `(.*)`$", REASONS.read_text(), re.MULTILINE)) if REASONS.exists() else set()


def report():
    by, known = collections.defaultdict(collections.Counter), reasons()
    missed = []
    for line in last().values():
        outcome = line["outcome"]
        if outcome == "missed":
            outcome = "explained" if line["mutant"] in known else "open"
            missed += [line["mutant"]] if outcome == "open" else []
        by[line["area"]][outcome] += 1
    rows = ["| area | judged | caught | no end | explained | open |", "|---|---|---|---|---|---|"]
    total = collections.Counter()
    for area in AREAS:
        of = by[area]
        total.update(of)
        rows.append(row(area, of))
    rows.append(row("all", total))
    fuzz.page("mutants", rows)
    print("\n".join(rows + [f"open: {name}" for name in missed]))


def row(area, of):
    judged = sum(of.values()) - of["unviable"]
    return f"| {area} | {judged} | {of['caught']} | {of['timeout']} | {of['explained']} | {of['open']} |"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("areas", nargs="*", metavar="AREA")
    arguments.add_argument("--count", type=int, default=0)
    arguments.add_argument("--again", action="store_true")
    arguments.add_argument("--sum", action="store_true")
    chosen = arguments.parse_args()
    if chosen.sum:
        report()
        return
    areas = chosen.areas or list(AREAS)
    tool, commit = install(), check_out()
    if chosen.again:
        known = reasons()
        for line in last().values():
            if line["outcome"] == "missed" and line["mutant"] not in known and line["area"] in areas:
                settle(tool, commit, line["area"], line["mutant"])
    judged = set(last())
    left = {area: [name for name in possible(tool, area) if name not in judged] for area in areas} if chosen.count else {}
    for turn in range(chosen.count):
        area = areas[turn % len(areas)]
        if left[area]:
            settle(tool, commit, area, left[area].pop(0))
    report()


if __name__ == "__main__":
    main()
