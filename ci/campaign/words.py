#!/usr/bin/env python3
"""Reads all words over twelve symbols of each family, and appends the counts to fuzz/ledger.jsonl.

  ci/campaign/words.py 5            words of five symbols, of all families, under all 2- and 3-way cuts
  ci/campaign/words.py 7 hermes     words of seven, whole and byte by byte, of one family
"""

import json
import subprocess
import sys

import fuzz


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    command = ["cargo", "run", "-q", "--release", "--locked", "--manifest-path", "fuzz/Cargo.toml", "--no-default-features", "--bin", "words", "--"]
    run = subprocess.Popen(command + sys.argv[1:], cwd=fuzz.ROOT, stdout=subprocess.PIPE, text=True)
    commit = fuzz.commit()
    for line in run.stdout:
        fuzz.append({"date": fuzz.today(), "commit": commit, **json.loads(line)})
        print(line, end="", flush=True)
    return run.wait()


if __name__ == "__main__":
    sys.exit(main())
