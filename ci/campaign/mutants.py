#!/usr/bin/env python3
"""Changes the code in one place at a time and sees whether a test fails.

  ci/campaign/mutants.py --count 40              judges forty more, spread over all areas
  ci/campaign/mutants.py --count 10 scan check   the same for two areas
  ci/campaign/mutants.py --again                 judges again what no test noticed
  ci/campaign/mutants.py --sum                   what was judged; writes it into docs/TRUST.md

cargo-mutants lists the possible changes. Their order is a fixed shuffle, so that any number of them is a random sample. The chosen ones are
built into the tests of a copy of the last commit, in target/mutated/, each behind a switch (switches.py), and turned on one after the other.
Each is judged by the unit tests of its package, and if they pass, by the tests of the library's laws. Results are appended to
ci/campaign/mutants.jsonl, and a run that is interrupted goes on from there. A change that no test notices is a gap in the tests, or has its
own heading in ci/campaign/MUTANTS.md with the reason why it changes nothing that matters.
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import threading
import time

import fuzz

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = pathlib.Path(__file__).resolve().parent
LEDGER, REASONS = HERE / "mutants.jsonl", HERE / "MUTANTS.md"
WORK = ROOT / "target" / "mutated"
TREE = WORK / "tree"
VERSION = "27.1.0"
# What a test run is: a package and perhaps the names of some tests.
SCAN, CORE = ["toolglot-scan"], ["toolglot"]
# What is written for the model has nothing to do with the areas, and its tests are slow.
TOOLS = ["toolglot-tools", "--skip=outcome::", "--skip=derive::"]
# The tests of the library's laws: first those that read every vector, then all that are not slow.
LAWS = ["toolglot-suite", "vectors::", "on_every_vector"]
MORE = ["toolglot-suite"] + [f"--skip={name}" for name in ("vectors::", "on_every_vector", "on_random", "state_is_equal", "spliced::", "fragments::")]
FOLDERS = {"toolglot-scan": "scan", "toolglot": "", "toolglot-tools": "tools", "toolglot-suite": "tests"}
# Of each area: the folder of its package, the beginning of its files' paths, and the test runs that judge it, one after the other.
AREAS = {
    "scan": ("scan", "scan/src/", [SCAN, CORE, LAWS, MORE]),
    "engine": ("", "src/engine/", [CORE, LAWS, MORE]),
    "body": ("", "src/body/", [CORE, LAWS, MORE]),
    "schema": ("", "src/schema/", [CORE, TOOLS, LAWS, MORE]),
    "check": ("tools", "tools/src/check.rs", [TOOLS]),
}
ENVIRONMENT = {
    **os.environ,
    "CARGO_TARGET_DIR": str(WORK / "target"),
    "RUSTFLAGS": "--cap-lints=allow",
    "TOOLGLOT_SPLITS": "0",
    "PROPTEST_CASES": "16",
    "PROPTEST_RNG_SEED": "1",
}
# A test run that takes as many times as long as without a change, and these seconds more, is said to hang.
PATIENCE = (6, 30)
# A change may make a loop that takes memory without end.
MEMORY = 4 << 30


def out(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


def lines():
    return [json.loads(line) for line in LEDGER.read_text().splitlines()] if LEDGER.exists() else []


def last():
    """The last judgement of each change."""
    return {line["mutant"]: line for line in lines()}


def install():
    """The path of cargo-mutants; this script goes on in an environment that has the parser of Rust."""
    script = """. ci/lib.sh; share_target
        install_packages "$CARGO_TARGET_DIR/mutants-venv" ci/campaign/mutants.txt >&2 || exit
        cargo_tool cargo-mutants {} >&2 || exit; echo "$CARGO_TARGET_DIR/mutants-venv/bin/python"; echo "$tool" """
    run = subprocess.run(["bash", "-c", script.format(VERSION)], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        sys.exit(run.returncode)
    python, tool = run.stdout.split()
    if sys.prefix == sys.base_prefix:
        os.execv(python, [python, __file__, *sys.argv[1:]])
    return tool


def check_out():
    """Brings the copy to the last commit. Only files that differ are written, so that the rest need not be built again."""
    commit = out("git", "rev-parse", "--short=8", "HEAD", cwd=ROOT).strip()
    if not TREE.exists():
        WORK.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "-q", "--shared", ROOT, TREE], check=True)
    subprocess.run(["git", "fetch", "-q", ROOT, "HEAD"], cwd=TREE, check=True)
    subprocess.run(["git", "checkout", "-q", "-f", "--detach", "FETCH_HEAD"], cwd=TREE, check=True)
    return commit


def possible(tool, areas):
    """All changes of each area, shuffled. A change keeps its place as long as its line stays."""
    globs = [f"--file={AREAS[area][1]}{'' if AREAS[area][1].endswith('.rs') else '**/*.rs'}" for area in areas]
    found = json.loads(out(tool, "mutants", "--list", "--json", "--workspace", *globs, cwd=TREE))
    fits = lambda change: change["genre"] != "StructField" and not re.search(r"/tests?[./]|impl (Debug|Display)", change["name"])
    place = lambda change: hashlib.sha256(change["name"].encode()).digest()
    listed = sorted(filter(fits, found), key=place)
    return {area: [{**change, "area": area} for change in listed if change["file"].startswith(AREAS[area][1])] for area in areas}


class Batch:
    """Some changes behind switches, built into one set of test programs."""

    def __init__(self, changes):
        self.changes = dict(enumerate(changes, 1))
        # Those that do not compile, and those whose place another one of the batch has taken.
        self.unviable, self.later = {}, {}
        self.programs = None
        while self.programs is None:
            self.programs = self.build()

    def build(self):
        """The test programs by package, or nothing if some changes had to be taken out."""
        import switches

        subprocess.run(["git", "checkout", "-q", "-f", "."], cwd=TREE, check=True)
        places, by_file = {}, collections.defaultdict(list)
        for number, change in self.changes.items():
            by_file[change["file"]].append(number)
        for name, numbers in by_file.items():
            source = switches.Source((TREE / name).read_text())
            for number in numbers:
                try:
                    if not source.put(number, self.changes[number]):
                        self.later[number] = self.changes[number]
                except ValueError:
                    self.unviable[number] = self.changes[number]
            (TREE / name).write_text(source.result())
            places[name] = source.places
        for folder in {AREAS[change["area"]][0] for change in self.changes.values()}:
            root = TREE / folder / "src" / "lib.rs"
            root.write_text(root.read_text() + switches.FUNCTION)
        for gone in (*self.later, *self.unviable):
            self.changes.pop(gone, None)
        command = ["cargo", "test", "-q", "--no-run", "--lib", "--locked", "--message-format=json"]
        packages = sorted({judge[0] for change in self.changes.values() for judge in AREAS[change["area"]][2]})
        run = subprocess.run(
            command + [f"-p={name}" for name in packages], cwd=TREE, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False
        )
        messages = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
        if run.returncode:
            self.take_out(places, [m["message"] for m in messages if m["reason"] == "compiler-message" and m["message"]["level"] == "error"], run)
            return None
        tests = [made for made in messages if made["reason"] == "compiler-artifact" and made["profile"]["test"] and made["executable"]]
        # `path+file:///folder#name@version`, or `path+file:///name#version`.
        named = lambda made: re.split("[#@/]", made["package_id"])[-3:]
        return {package: made["executable"] for made in tests for package in packages if package in named(made)}

    def take_out(self, places, errors, run):
        """Takes out the changes in which the compiler found an error, or if there are none, those in the error's line."""
        spans = [span for error in errors for span in error["spans"] if span["is_primary"]]
        bad, near = set(), set()
        for span in spans:
            for number, (begin, end) in places.get(span["file_name"], {}).items():
                if begin <= span["byte_start"] and span["byte_end"] <= end:
                    bad.add(number)
                if self.changes[number]["span"]["start"]["line"] == span["line_start"]:
                    near.add(number)
        bad = bad or near
        if not bad:
            sys.exit("the switches do not compile:\n" + "\n".join(error["rendered"] for error in errors[:5]) + run.stderr[-2000:])
        for number in bad:
            self.unviable[number] = self.changes.pop(number)


def run_tests(program, judge, number, patience):
    """One test run with one change turned on: passed, caught or timeout, and how long it took."""
    package, *names = judge
    folder = TREE / FOLDERS[package]
    environment = {**ENVIRONMENT, "MUTATED": str(number), "CARGO_MANIFEST_DIR": str(folder), "RUST_BACKTRACE": "0"}
    began = time.monotonic()
    run = subprocess.Popen(
        [program, "--test-threads=2", *names], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace",
        start_new_session=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )  # fmt: skip
    hangs = threading.Timer(patience, lambda: os.killpg(run.pid, signal.SIGKILL))
    hangs.start()
    outcome = None
    for line in run.stdout:
        if line.rstrip().endswith("... FAILED"):
            outcome = "caught"
            break
    took = time.monotonic() - began
    if outcome:
        os.killpg(run.pid, signal.SIGKILL)
    hangs.cancel()
    status = run.wait()
    if outcome is None:
        outcome = "timeout" if took >= patience else "caught" if status else "passed"
    return outcome, took


def judge_all(batch, commit):
    usual = {}
    for judge in {tuple(judge) for change in batch.changes.values() for judge in AREAS[change["area"]][2]}:
        outcome, usual[judge] = run_tests(batch.programs[judge[0]], judge, 0, 3600)
        print(f"without a change: {' '.join(judge)} {outcome} after {usual[judge]:.0f} s", flush=True)
        if outcome != "passed":
            sys.exit(1)
    for change in batch.unviable.values():
        record(change, commit, "unviable", "cargo", 0)
    for number, change in batch.changes.items():
        seconds = 0
        for judge in AREAS[change["area"]][2]:
            times, more = PATIENCE
            outcome, took = run_tests(batch.programs[judge[0]], judge, number, usual[tuple(judge)] * times + more)
            seconds += took
            if outcome != "passed":
                break
        record(change, commit, "missed" if outcome == "passed" else outcome, judge[0], seconds)


def record(change, commit, outcome, judge, seconds):
    line = {
        "date": fuzz.today(), "commit": commit, "area": change["area"],
        "mutant": change["name"], "outcome": outcome, "by": judge, "seconds": round(seconds),
    }  # fmt: skip
    with LEDGER.open("a") as ledger:
        ledger.write(json.dumps(line) + "\n")
    print(f"{outcome} after {line['seconds']} s: {change['name']}", flush=True)


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
    judged = sum(of.values()) - of["unviable"] - of["gone"]
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
    wanted, judged, known = [], last(), reasons()
    left = possible(tool, areas)
    if chosen.again:
        missed = {name for name, line in judged.items() if line["outcome"] == "missed" and name not in known}
        wanted += [change for area in areas for change in left[area] if change["name"] in missed]
    new = {area: [change for change in left[area] if change["name"] not in judged] for area in areas}
    for turn in range(chosen.count):
        if of := new[areas[turn % len(areas)]]:
            wanted.append(of.pop(0))
    while wanted:
        batch = Batch(wanted)
        judge_all(batch, commit)
        wanted = list(batch.later.values())
    report()


if __name__ == "__main__":
    main()
