#!/usr/bin/env python3
"""Writes what docs/FORMATS.md says of each dialect (the lines with a star) from the dialect files.

Prose and examples of the page are left as they are. `tests/suite/formats.rs` fails where the page is stale.
"""

import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "FORMATS.md"
FILES = ROOT / "src" / "dialect" / "builtin"


def facts(dialect):
    """The lines with a star of one dialect."""
    names = ", ".join(f"`{name}`" for name in dialect.get("aliases", []))
    default = "yes" if dialect.get("default", True) else "no"
    group = f"; group `{dialect['group']}`" if "group" in dialect else ""
    lines = [f"* aliases: {names}"] if names else []
    lines.append("* written by: " + ", ".join(dialect.get("models", [])))
    lines.append(f"* default set: {default}{group}")
    lines.append("* source: " + "; ".join(dialect.get("sources", [])))
    return lines


def main():
    head, *entries = re.split(r"(?m)^(?=### `)", PAGE.read_text(encoding="utf-8"))
    out, known = [head], set()
    for entry in entries:
        name = re.match(r"### `(.+)`", entry)[1]
        known.add(name)
        path = FILES / f"{name}.toml"
        if path.exists():
            lines = facts(tomllib.loads(path.read_text(encoding="utf-8")))
            text = "".join(f"{line}\n" for line in lines)
            # The facts are the first list of an entry.
            entry = re.sub(r"(?m)(?:^\* .*\n)+", lambda _: text, entry, count=1)
        out.append(entry)
    PAGE.write_text("".join(out), encoding="utf-8")
    lacks = sorted(path.stem for path in FILES.glob("*.toml") if path.stem not in known)
    print(f"{len(known)} entries; files without one: {', '.join(lacks) or 'none'}")


if __name__ == "__main__":
    sys.exit(main())
