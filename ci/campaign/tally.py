#!/usr/bin/env python3
"""Runs one of the counting programs of fuzz/src/, the hunt of tests/suite/twins.rs or ci/campaign/arrow.py, and appends what it counted to
fuzz/ledger.jsonl.

  ci/campaign/tally.py words 5            all words of five symbols, of all families, however they are cut
  ci/campaign/tally.py words 7 hermes     of seven symbols, whole and byte by byte, of one family
  ci/campaign/tally.py soak               5 GiB through one stream, and a million streams: memory stays flat
  ci/campaign/tally.py twins 50000 1000   a thousand random inputs of each dialect from this seed on, compared with its second reader
  ci/campaign/tally.py arrow 200000       random Arrow columns through the Python package, half of them damaged; ci/python.sh builds its wheel
"""

import json
import os
import subprocess
import sys

import fuzz

# A virtual environment with the wheel that ci/python.sh has built, and pyarrow. Prints its interpreter.
ARROW = """
. ci/lib.sh; share_target; venv=$CARGO_TARGET_DIR/arrow-venv
install_pyarrow "$venv" >&2 || exit 77
"$venv/bin/python" -m pip install -q --disable-pip-version-check --no-index --no-deps --force-reinstall "$CARGO_TARGET_DIR"/python-wheels/*.whl || exit 77
echo "$venv/bin/python"
"""


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in ("words", "soak", "twins", "arrow"):
        sys.exit(__doc__)
    program, *rest = sys.argv[1:]
    environment = dict(os.environ)
    if program == "twins":
        environment["SEED"], environment["SEEDS"], *names = rest
        environment["TWINS"] = ",".join(names)
        command = ["cargo", "test", "-q", "--release", "--locked", "-p", "toolglot-suite", "--lib", "--", "--ignored", "--nocapture", "twins::hunt"]
    elif program == "arrow":
        made = subprocess.run(["bash", "-c", ARROW], cwd=fuzz.ROOT, stdout=subprocess.PIPE, text=True, check=False)
        if made.returncode:
            sys.exit(made.returncode)
        command = [made.stdout.strip(), "ci/campaign/arrow.py", *rest]
    else:
        command = ["cargo", "run", "-q", "--release", "--locked", "--manifest-path", "fuzz/Cargo.toml", "--no-default-features", "--bin", program, "--"]
        command += rest
    run = subprocess.Popen(command, cwd=fuzz.ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    commit = fuzz.commit()
    for line in run.stdout:
        if line.startswith("{"):
            fuzz.append({"date": fuzz.today(), "commit": commit, **json.loads(line)})
        print(line, end="", flush=True)
    status = run.wait()
    fuzz.report()
    return status


if __name__ == "__main__":
    sys.exit(main())
