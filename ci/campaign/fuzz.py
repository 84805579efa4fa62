#!/usr/bin/env python3
"""Fuzzes the targets and appends what was run to fuzz/ledger.jsonl.

  ci/campaign/fuzz.py --executions 5000000        until each target has that many in the ledger
  ci/campaign/fuzz.py --seconds 600 chunking      this target, for ten minutes
  ci/campaign/fuzz.py --seconds 20 --no-ledger    a short look at all targets, which leaves no line
  ci/campaign/fuzz.py --sum                       what the ledger holds; writes it into docs/TRUST.md

Work is done in slices of at most --slice seconds, two thirds of them with short inputs of at most 96 bytes, so that a run that is
interrupted loses one slice. Inputs with new coverage are kept in fuzz/corpus-run/, the short ones in a folder of their own. An input that fails a check is written to
fuzz/artifacts/TARGET/ and is in the ledger's line; the target is then left until the finding is mended, its input stands in
fuzz/regressions/TARGET/ under a descriptive name, and a `--mended NAME COMMIT` line says so.
"""

import argparse
import collections
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LEDGER = ROOT / "fuzz" / "ledger.jsonl"
SMALL, LARGE = 96, 1024
# Where two bytes are a whole call, fewer make a short stream.
SHORT = {"composed": 48, "agent_run": 48}
# A target of its own program, because it is written in C.
CALLS = "c_calls"


def targets():
    source = (ROOT / "fuzz" / "checks" / "mod.rs").read_text()
    table = source[source.index("pub const TARGETS") :]
    return [*re.findall(r'\("(\w+)", ', table[: table.index("];")]), CALLS]


def lines():
    if not LEDGER.exists():
        return []
    return [json.loads(line) for line in LEDGER.read_text().splitlines()]


def totals():
    """Of each target: executions, parses, seconds."""
    sums = collections.defaultdict(lambda: [0, 0, 0])
    for line in lines():
        if "executions" in line:
            of = sums[line["target"]]
            of[0] += line["executions"]
            of[1] += line["parses"]
            of[2] += line["seconds"]
    return sums


def open_findings():
    found, mended = {}, set()
    for line in lines():
        for name in line.get("crashes", []):
            found[name] = line["target"]
        mended.add(line.get("mended"))
    return {name: target for name, target in found.items() if name not in mended}


def today():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ")


def commit():
    run = lambda *command: subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    changed = run("git", "status", "--porcelain", "--", "scan", "src", "tools", "agent", "gateway", "bindings", "fuzz/checks")
    return run("git", "rev-parse", "--short=8", "HEAD") + ("+" if changed else "")


def build(names):
    """The program of all targets; that of the C calls lies beside it."""
    also = "build_c_fuzzer || exit $?;" if CALLS in names else ""
    script = f'. ci/lib.sh; build_fuzzer || exit $?; {also} echo "$fuzzer"'
    run = subprocess.run(["bash", "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        print(run.stdout, end="")
        sys.exit(run.returncode)
    return run.stdout.strip().splitlines()[-1]


def fuzz(fuzzer, built, target, seconds, longest, seed):
    """Runs one slice. The line for the ledger, and the end of the log if a check failed."""
    folder = ROOT / "fuzz"
    run = folder / "corpus-run" / (target if longest == LARGE else target + "-small")
    artifacts = folder / "artifacts" / target
    for made in (run, artifacts):
        made.mkdir(parents=True, exist_ok=True)
    before = set(artifacts.iterdir())
    given = [where for where in (folder / "corpus" / target, folder / "regressions" / target) if where.is_dir()]
    command = [
        fuzzer + "-c" if target == CALLS else fuzzer, run, *given, f"-dict={folder / 'markers.dict'}", f"-max_len={longest}", f"-max_total_time={seconds}",
        # The schedule by entropy takes longer than a short execution, and so does a look at the corpus for other processes' inputs.
        "-entropic=0", "-reload=0", "-timeout=10", "-print_final_stats=1", "-print_funcs=0", f"-artifact_prefix={artifacts}/", f"-seed={seed}",
    ]  # fmt: skip
    environment = {**os.environ, "TARGET": target, "RUST_BACKTRACE": "0"}
    ended = subprocess.run(
        list(map(str, command)), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False
    )
    log = ended.stdout
    stat = lambda name: int((re.findall(rf"stat::{name}: *(\d+)", log) or [0])[-1])
    rate = stat("average_exec_per_sec")
    # A run that ends with a finding prints no statistics; its last progress line tells how far it came.
    reached = [int(count) for count in re.findall(r"^#(\d+)\t", log, re.MULTILINE)]
    executions = stat("number_of_executed_units") or max(reached, default=0)
    coverage = re.findall(r" cov: (\d+) ft: (\d+) corp: (\d+)", log)
    edges, features, corpus = map(int, coverage[-1]) if coverage else (0, 0, 0)
    crashes = sorted(made.name for made in set(artifacts.iterdir()) - before)
    if ended.returncode and not crashes:
        crashes = [f"exit-{ended.returncode}"]
    line = {
        "date": today(), "target": target, "commit": built,
        "longest": longest, "executions": executions, "parses": stat("parses"), "seconds": round(executions / rate) if rate else seconds,
        "corpus": corpus, "edges": edges, "features": features, "crashes": crashes,
    }  # fmt: skip
    shown = "\n".join(line for line in log.splitlines() if not re.match(r"^#|\s*$|.*DE: ", line))
    return line, shown[-3000:] if crashes else ""


def append(line):
    with LEDGER.open("a") as ledger:
        ledger.write(json.dumps(line) + "\n")


def page(part, rows):
    """Replaces a part of docs/TRUST.md, which stands between two comments."""
    where = ROOT / "docs" / "TRUST.md"
    begin, end = f"<!-- {part} -->\n", f"<!-- end of {part} -->"
    before, rest = where.read_text().split(begin)
    where.write_text(before + begin + "\n".join(rows) + "\n" + end + rest.split(end)[1])


def report():
    sums = totals()
    rows = ["| target | executions | streams parsed | minutes |", "|---|---|---|---|"]
    for target in targets():
        executions, parses, seconds = sums[target]
        rows.append(f"| `{target}` | {executions:,} | {parses:,} | {seconds // 60:,} |")
    done = [sum(of[at] for of in sums.values()) for at in range(3)]
    rows.append(f"| all | {done[0]:,} | {done[1]:,} | {done[2] // 60:,} |")
    words = collections.defaultdict(lambda: [0, 0, set()])
    for line in lines():
        if "words" in line:
            of = words[line["length"], line["cuts"]]
            of[0], of[1] = of[0] + line["count"], of[1] + line.get("chunks", line.get("parses", 0))
            of[2].add(line["words"])
    if words:
        rows += ["", "| symbols a word | cut into | families | words | streams parsed, or chunks read |", "|---|---|---|---|---|"]
        cuts = {
            "Three": "two and three", "All": "any chunks", "Symbols": "any chunks, the last of which ends with a symbol", "Bytes": "bytes",
        }  # fmt: skip
        rows += [f"| {length} | {cuts[cut]} | {len(of[2])} | {of[0]:,} | {of[1]:,} |" for (length, cut), of in sorted(words.items())]
    twins = [line for line in lines() if "twins" in line]
    if twins:
        compared, dialects = sum(line["compared"] for line in twins), {line["twins"] for line in twins}
        differ = sum(len(line["differ"]) for line in twins)
        rows += ["", f"Second readers: {compared:,} inputs of {len(dialects)} dialects compared, of which {differ} differed."]
    arrow = [line for line in lines() if "arrow" in line]
    if arrow:
        columns, damaged = (sum(line[key] for line in arrow) for key in ("arrow", "damaged"))
        rows += ["", f"Arrow columns: {columns:,}, of which {damaged:,} were damaged."]
    found = sorted({name for line in lines() for name in line.get("crashes", [])})
    rows += ["", f"Findings: {len(found)}, of which open: {', '.join(open_findings()) or 'none'}."]
    page("ledger", rows)
    print("\n".join(rows))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("targets", nargs="*", metavar="TARGET")
    arguments.add_argument("--executions", type=int, help="go on until the ledger holds that many of each target")
    arguments.add_argument("--seconds", type=int, help="of each target (default 20)")
    arguments.add_argument("--slice", type=int, default=300, help="seconds of one run of the fuzzer")
    arguments.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments.add_argument("--seed", type=int, default=0, help="0: another one each time")
    arguments.add_argument("--no-ledger", action="store_true")
    arguments.add_argument("--sum", action="store_true")
    arguments.add_argument("--mended", nargs=2, metavar=("NAME", "COMMIT"))
    chosen = arguments.parse_args()
    if chosen.mended:
        name, by = chosen.mended
        if name not in open_findings():
            sys.exit(f"no open finding {name}")
        append({"target": open_findings()[name], "mended": name, "commit": by})
    if chosen.sum or chosen.mended:
        report()
        return 0
    if unknown := set(chosen.targets) - set(targets()):
        sys.exit(f"no target {', '.join(unknown)}; there are {', '.join(targets())}")
    names = chosen.targets or targets()
    seconds = chosen.seconds or (None if chosen.executions else 20)
    fuzzer, built, lock, failed = build(names), commit(), threading.Lock(), []

    def campaign(target):
        spent, turn = 0, 0
        while True:
            with lock:
                done = totals()[target][0]
                broken = target in open_findings().values() and not chosen.no_ledger
            if broken or (chosen.executions and done >= chosen.executions) or (seconds and spent >= seconds):
                return
            length = min(chosen.slice, seconds - spent) if seconds else chosen.slice
            line, log = fuzz(fuzzer, built, target, length, LARGE if turn % 3 == 2 else SHORT.get(target, SMALL), chosen.seed)
            spent, turn = spent + length, turn + 1
            with lock:
                print(f"{target}: {line['executions']:,} executions in {line['seconds']} s, {line['edges']} edges", flush=True)
                if not chosen.no_ledger:
                    append(line)
                if log:
                    failed.append(target)
                    print(log, f"\nreproduce it: cargo run --manifest-path fuzz/Cargo.toml --release --no-default-features --bin replay -- {target} FILE")
                    return

    with concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
        for done in [pool.submit(campaign, target) for target in names]:
            done.result()
    if not chosen.no_ledger:
        report()
    return 1 if failed or (open_findings() and not chosen.no_ledger) else 0


if __name__ == "__main__":
    sys.exit(main())
