"""Writes the figures of docs/COMPARISON.md between its markers."""

import datetime
import re
import subprocess
import sys
from collections import Counter

from growth import COUNTED, KIB, LIMIT
from inputs import ROOT
from table import DIALECTS, PARSERS

PAGE = ROOT / "docs" / "COMPARISON.md"
CLASSES = ["call missing", "call too many", "other name", "other arguments", "arguments not JSON", "exception"]


def table(head, rows):
    lines = ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]
    return "\n".join(lines)


def matrix(peers, everything, cell):
    """A row for each dialect, a column for each peer; `cell` makes text from the inputs of both."""
    rows = []
    for dialect in DIALECTS:
        here = [one for one in everything if one.dialect == dialect]
        found = [[one.said[peer.name] for one in here if peer.name in one.said] for peer in peers]
        if here:
            rows.append([f"`{dialect}`", str(len(here)), *(cell(said) if said else "" for said in found)])
    rows.append(["all", "", *(cell([one.said[peer.name] for one in everything if peer.name in one.said]) for peer in peers)])
    return table(["dialect", "inputs", *(f"`{peer.name}`" for peer in peers)], rows)


def depends(which):
    return lambda said: " / ".join(str(sum(one["depends"][kind][which] for one in said)) for kind in ("steady", "whole", "inside"))


def wrong(said):
    return " / ".join(str(sum(bool(one[way]["fault"]) for one in said)) for way in ("stream", "once"))


def share(name):
    """How many inputs, and how many characters."""

    def cell(said):
        hit = [one["stream"][name] for one in said if one["stream"][name]]
        return f"{len(hit)} ({sum(hit)})" if hit else "0"

    return cell


def classes(peers, everything):
    rows = []
    for peer in peers:
        said = [one.said[peer.name] for one in everything if peer.name in one.said]
        count = {way: Counter(one[way]["fault"] for one in said) for way in ("stream", "once")}
        rows.append([f"`{peer.name}`", str(len(said)), *(f"{count['stream'][name]} / {count['once'][name]}" for name in CLASSES)])
    return table(["peer", "inputs", *CLASSES], rows)


def exceptions(peers, everything):
    rows = []
    for peer in peers:
        said = [one.said[peer.name] for one in everything if peer.name in one.said]
        kinds = Counter(re.sub(r"[^\w :.'-]|\d+", "", message)[:70] for one in said for message in one["exceptions"])
        rows.append([f"`{peer.name}`", str(sum(bool(one["exceptions"]) for one in said)), str(sum(one["unlike"] for one in said)),
                     "; ".join(f"`{kind}` ({count})" for kind, count in kinds.most_common(4))])
    return table(["peer", "inputs with an exception", "calls at once unlike calls in the stream", "exceptions"], rows)


def seconds(peers, costs):
    rows = []
    for (name, dialect), found in costs["seconds"].items():
        cells, first = [], None
        for kib in KIB:
            one = found.get(kib)
            if one is None or "error" in one:
                cells.append(f"`{one['error'][:40]}`" if one else "")
            elif one["whole"] or one["bytes"]:
                each = one["seconds"] / one["bytes"] * 1e9
                first = first or each
                cells.append(f"{each:,.0f} ({each / first:.1f})" + ("" if one["whole"] else f", stopped at {one['bytes'] // 1024} KiB"))
        rows.append([f"`{dialect}`", f"`{name}`", *cells])
    order = {dialect: number for number, dialect in enumerate(DIALECTS)}
    rows.sort(key=lambda row: order[row[0].strip("`")])
    return table(["dialect", "peer", *(f"{kib} KiB" for kib in KIB)], rows)


def instructions(costs):
    rows = []
    for (name, dialect), found in costs["instructions"].items():
        first = found.get(COUNTED[0])
        rows.append([f"`{dialect}`", f"`{name}`", *(f"{found[kib]:,.0f} ({found[kib] / first:.2f})" if kib in found else "" for kib in COUNTED)])
    order = {dialect: number for number, dialect in enumerate(DIALECTS)}
    rows.sort(key=lambda row: order[row[0].strip("`")])
    return table(["dialect", "peer", *(f"{kib} KiB" for kib in COUNTED)], rows) if rows else "Not counted: valgrind was missing."


def parts(peers, everything, costs):
    vectors = [one for one in everything if one.source == "vectors"]
    clean, broken = [one for one in vectors if one.clean], [one for one in vectors if not one.clean]
    cells = [one for one in everything if one.source == "templates"]
    tests = [one for one in everything if one.source == "tests"]
    judged = [*vectors, *cells]
    read = [one for one in cells if any(not said[way]["fault"] for said in one.said.values() for way in ("stream", "once"))]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    left = sorted(set(PARSERS) - {peer.name for peer in peers})
    yield "versions", table(["peer", "version"], [[f"`{peer.name}`", peer.version] for peer in peers]) + (
        f"\n\nMeasured on {datetime.datetime.now(datetime.UTC):%F}, toolglot at commit {commit}: {len(clean)} vectors that keep to their format, "
        f"{len(broken)} that deviate, {len(cells)} outputs of chat templates, {len(tests)} strings of tests."
        + (f"\nLeft out, because they could not be fetched or built: {', '.join(left)}." if left else "")
    )
    yield "cuts", "Outputs:\n\n" + matrix(peers, judged, depends(0)) + "\n\nCalls alone:\n\n" + matrix(peers, judged, depends(1)) + (
        "\n\nStrings of vLLM's own tests, outputs:\n\n" + matrix(peers, tests, depends(0)))
    yield "templates", matrix(peers, read, wrong) + f"\n\nLeft out: {len(cells) - len(read)} outputs that no parser here reads as they were meant."
    yield "tests", matrix(peers, tests, wrong)
    yield "clean", matrix(peers, clean, wrong)
    yield "broken", matrix(peers, broken, wrong)
    yield "classes", "Vectors that keep to their format, and outputs of templates:\n\n" + classes(peers, clean + read) + (
        "\n\nVectors that deviate:\n\n" + classes(peers, broken))
    yield "text", "Lost:\n\n" + matrix(peers, clean + read, share("lost")) + "\n\nToo much:\n\n" + matrix(peers, clean + read, share("leaked"))
    yield "exceptions", exceptions(peers, everything)
    yield "seconds", seconds(peers, costs) + f"\n\nA stream was stopped after {LIMIT} processor seconds."
    yield "instructions", instructions(costs)


def write(peers, everything, costs, keep):
    page = PAGE.read_text(encoding="utf-8")
    for name, text in parts(peers, everything, costs):
        if not keep:
            print(f"\n## {name}\n\n{text}")
        begin, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->"
        if begin not in page or end not in page:
            sys.exit(f"{PAGE.name} has no markers for {name}")
        page = page[: page.index(begin) + len(begin)] + "\n" + text + "\n\n" + page[page.index(end) :]
    if keep:
        PAGE.write_text(page, encoding="utf-8")
        print(f"{PAGE.relative_to(ROOT)} is written")
