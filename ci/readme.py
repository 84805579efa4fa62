#!/usr/bin/env python3
"""Writes the table of dialects in README.md, and how many there are, from the dialect files.

`tests/suite/dialects.rs` builds the same table from the compiled dialects and fails where the page is stale.
"""

import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "README.md"
LIST = ROOT / "src" / "dialect" / "builtin.rs"
FILES = ROOT / "src" / "dialect" / "builtin"
FAMILIES = ("key_quote", "element_tree", "named_params", "attribute_params", "framed", "line")
MOST = 6
HOLE = re.compile(r"\$(?:\$|_|/|\^|[a-z]+)")


def literal(pattern):
    """What a pattern begins with, up to its first hole."""
    out, at = "", 0
    while found := HOLE.search(pattern, at):
        out += pattern[at : found.start()]
        if found[0] != "$$":
            return out
        out, at = out + "$", found.end()
    return out + pattern[at:]


def framed(body):
    """Openers of a framed dialect: those of its section, then those of calls that may stand without one."""
    section = body.get("section")
    fixes = list(dict.fromkeys(body["fixed"].values())) if "fixed" in body else None
    spelt = lambda p: [p.replace("$x", fix) for fix in fixes] if fixes and "$x" in p else [p]
    out = [literal(p) for pattern in section["open"] for p in spelt(pattern)] if section else []
    if section is None or section.get("optional"):
        for unit in body["unit"]:
            for pattern in unit["open"]:
                if not pattern.startswith("$^"):
                    out.extend(map(literal, spelt(pattern)))
                elif "bare" in unit or unit.get("probe"):
                    out.append(pattern[2:])
    return out


def openers(family, body):
    """What opens the blocks of a dialect, as `Dialect::openers` gives it."""
    if family == "key_quote":
        out = body["open"]
    elif family == "element_tree":
        out = [body["open"]]
    elif family in ("named_params", "attribute_params"):
        out = ["<" + body["call"]]
    elif family == "framed":
        out = framed(body)
    elif family == "line":
        kinds = ("thought", "action", "observation", "answer")
        out = [literal(pattern) for kind in kinds for pattern in body.get(kind, [])]
    else:
        out = []
    return list(dict.fromkeys(filter(None, out)))


def load(name):
    """The file of one dialect."""
    return tomllib.loads((FILES / f"{name}.toml").read_text(encoding="utf-8"))


def between(page, mark, text):
    """The page with another text between two comments."""
    begin, end = f"<!-- {mark}:begin -->\n", f"<!-- {mark}:end -->"
    head, rest = page.split(begin)
    _, tail = rest.split(end)
    return head + begin + text + end + tail


def row(name):
    """The line of one dialect."""
    dialect = load(name)
    family = next((family for family in FAMILIES if family in dialect), "plain")
    found = dialect["channels"]["start"] if "channels" in dialect else openers(family, dialect.get(family))
    opens = ["`" + o.replace("|", "\\|") + "`" for o in found]
    # Of many spellings the first ones are enough.
    opens = " ".join(opens if len(opens) <= MOST else [*opens[: MOST - 1], ".."])
    default = "yes" if dialect.get("default", True) else "no"
    return f"| `{name}` | {family.replace('_', '-')} | {opens} | {default} | {dialect['title']} |\n"


def main():
    names = re.findall(r'(?m)^    "(.+)"$', LIST.read_text(encoding="utf-8"))
    table = "| id | family | opens with | default | title |\n|---|---|---|---|---|\n"
    table += "".join(map(row, names))
    default = sum(load(name).get("default", True) for name in names)
    count = f"{len(names)} dialects are built in; {default} of them are the default set.\n"
    page = PAGE.read_text(encoding="utf-8")
    page = between(between(page, "counts", count), "dialects", table)
    PAGE.write_text(page, encoding="utf-8")
    print(f"{len(names)} dialects")


if __name__ == "__main__":
    sys.exit(main())
