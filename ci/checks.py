#!/usr/bin/env python3
"""Writes docs/CHECKS.md: the latest result of each stage of ci/full.sh.

    ci/checks.py RESULTS STAGE...

Rows of stages that are missing from the results stay as they are.
"""
import pathlib
import re
import sys

PAGE = pathlib.Path(__file__).parent.parent / "docs/CHECKS.md"

HEAD = """# Checks

`ci/all.sh` runs for every change. `ci/full.sh` runs what takes longer or needs large downloads, and writes this table: the latest
result of each stage, and its commit (`+`: with uncommitted changes). *skipped* means that a tool was missing.

| stage | result | seconds | commit | day (UTC) |
|---|---|---|---|---|
"""


def main(results, *stages):
    rows = {}
    if PAGE.exists():
        for name, row in re.findall(r"^\| `([a-z-]+)` (\|.*)$", PAGE.read_text(), re.M):
            rows[name] = row
    for line in pathlib.Path(results).read_text().splitlines():
        name, *cells = line.split()
        rows[name] = "| " + " | ".join(cells) + " |"
    never = "| not run yet | | | |"
    PAGE.write_text(HEAD + "".join(f"| `{name}` {rows.get(name, never)}\n" for name in stages))


main(*sys.argv[1:])
