#!/usr/bin/env python3
"""Makes docs/C-API.md from include/toolglot.h, or checks that it is up to date.

Usage: ci/c-docs.py [--write]
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "C-API.md"

# Groups of functions, by what follows `toolglot_`.
GROUPS = ["config", "engine", "options", "stream", "buffer", "turn", "openai", "tools", "agent", "run", "response"]


def items(text):
    """(comment, code) for every documented item of the header, in order."""
    comment, lines = [], text.splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("//"):
            comment.append(line[2:].removeprefix(" "))
            continue
        if comment and line.strip():
            code = [line]
            while not done(code):
                code.append(lines[at])
                at += 1
            yield comment, code
        comment = []


def done(code):
    """Whether the lines are a complete declaration."""
    text = "\n".join(code)
    return text.startswith("#") or (text.rstrip().endswith(";") and text.count("{") == text.count("}"))


def prose(comment):
    return "\n".join(comment)


def page(header):
    intro = re.match(r"/\*(.*?)\*/", header, re.S).group(1)
    intro = [line.removeprefix(" *").removeprefix(" ") for line in intro.strip().splitlines()]
    out = ["# C API", "", "Generated from [toolglot.h](../include/toolglot.h) by `ci/c-docs.py`; do not edit.", ""]
    out += [{"Rules for all functions": "## Rules for all functions"}.get(line, line) for line in intro]
    functions, types, numbers = [], [], []
    for comment, code in items(header.split("#include <stdint.h>")[1]):
        if code[0].startswith("#define"):
            numbers.append((comment, code[0].split(None, 2)[1:]))
        elif code[0].startswith("typedef"):
            types.append((comment, code))
        else:
            functions.append((comment, [line.removeprefix("TOOLGLOT_API").strip() or None for line in code]))
    out += ["", "## Types"]
    for comment, code in types:
        out += ["", "```c", *code, "```", "", prose(comment)]
    name = lambda code: re.search(r"\b(toolglot_\w+)\(", " ".join(filter(None, code))).group(1)
    group = lambda code: next((g for g in GROUPS if name(code).startswith(f"toolglot_{g}_")), None)
    titles = {None: "Library, one-shot parsing, text"}
    for wanted in [None, *GROUPS]:
        out += ["", f"## Functions: {titles.get(wanted, wanted)}"]
        for comment, code in functions:
            if group(code) == wanted:
                out += ["", f"### {name(code)}", "", "```c", *filter(None, code), "```", "", prose(comment)]
    out += ["", "## Numbers", ""]
    out += ["| name | value | meaning |", "|---|---|---|"]
    for comment, (macro, value) in numbers:
        meaning = " ".join(comment).replace("|", "\\|")
        out.append(f"| `{macro}` | `{value}` | {meaning} |")
    return "\n".join(out) + "\n"


def main():
    text = page((ROOT / "include" / "toolglot.h").read_text())
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        sys.exit("docs/C-API.md does not match the header: run ci/c-docs.py --write")


main()
