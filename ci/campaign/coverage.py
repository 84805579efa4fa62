#!/usr/bin/env python3
"""Writes the table of coverage in docs/TRUST.md from a summary of llvm-cov; ci/campaign/coverage.sh calls it."""

import collections
import json
import pathlib
import sys

import fuzz


def main():
    files = json.loads(pathlib.Path(sys.argv[1]).read_text())["data"][0]["files"]
    rooms = collections.defaultdict(lambda: [0, 0, 0, 0])
    for file in files:
        path = pathlib.Path(file["filename"])
        place = path.relative_to(fuzz.ROOT) if path.is_absolute() else path
        room = "/".join(place.parts[:2]) if place.parts[0] == "src" and len(place.parts) > 2 else place.parts[0] + "/"
        for at, kind in ((0, "lines"), (2, "regions")):
            rooms[room][at] += file["summary"][kind]["covered"]
            rooms[room][at + 1] += file["summary"][kind]["count"]
    rooms["all"] = [sum(of[at] for of in rooms.values()) for at in range(4)]
    share = lambda covered, count: f"{100 * covered / count:.1f} %" if count else ""
    rows = ["| place | lines | reached | regions | reached |", "|---|---|---|---|---|"]
    rows += [f"| `{room}` | {of[1]:,} | {share(*of[:2])} | {of[3]:,} | {share(*of[2:])} |" for room, of in sorted(rooms.items())]
    fuzz.page("coverage", [*rows, "", f"Measured by `ci/campaign/coverage.sh` on {fuzz.today()[:10]} at commit `{fuzz.commit()}`."])
    print("\n".join(rows))


if __name__ == "__main__":
    main()
