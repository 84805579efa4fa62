"""Renders chat templates and reads them back; writes docs/TEMPLATES.md.

    check.py COMMAND FOLDER [--write | --show WORD]      FOLDER holds the unpacked archives
"""

import hashlib
import sys
import tomllib
from collections import Counter
from pathlib import Path

from losses import judge
from read import CUTS, read, turn_of
from render import Refused, Template
from report import report
from shapes import SHAPES, TOOLS

HERE = Path(__file__).parent
# Where the archives keep the templates of conversations; those of embedders and rerankers are elsewhere.
PLACES = (
    "vendor/llama.cpp/models/templates/*.jinja",
    "examples/*.jinja",
    "vllm/transformers_utils/chat_templates/*.jinja",
    "rust/src/chat/tests/templates/**/*.jinja",
)


def find(folder):
    """Every distinct template: (archive, name, source)."""
    seen = set()
    for archive in sorted(Path(folder).iterdir()):
        for place in PLACES:
            for path in sorted(archive.glob(place)):
                source = path.read_text()
                digest = hashlib.sha256(source.encode()).digest()
                if digest not in seen:
                    seen.add(digest)
                    yield archive.name, path.stem, source


def ready(known, name, source, usual=()):
    """A template with the variables and the ids that it needs."""
    variables = {**dict(usual), **known["variables"]["*"], **known["variables"].get(name, {})}
    return Template(source, variables, known["ids"].get(name, "call{index:05}"))


def load(folder):
    """The templates that write calls, ready to render, their total number, and the reasons for what is not read."""
    known = tomllib.loads((HERE / "templates.toml").read_text())
    templates, count, unknown = [], 0, []
    for archive, name, source in find(folder):
        count += 1
        template = ready(known, name, source)
        if template.probe(TOOLS):
            template.name, template.archive = name, archive
            template.dialects = known["dialects"].get(name)
            (templates if template.dialects else unknown).append(template)
    if unknown:
        sys.exit("no dialect is given in templates.toml for: " + ", ".join(t.name for t in unknown))
    return templates, count, known["reasons"]


def cells(templates):
    for template in templates:
        for shape, said in SHAPES.items():
            cell = {"template": template, "shape": shape, "said": said, "dialects": template.dialects, "tools": TOOLS}
            try:
                cell["tail"], cell["reply"] = template.write(said, TOOLS)
            except Refused as why:
                cell["refused"] = str(why)
            yield cell


def verdict(cell, outs):
    """Sets the cell's verdict (right, template or us) and the differences under the first chunking that has any."""
    cell["losses"] = []
    for out in map(turn_of, outs):
        cell["got"] = out
        cell["losses"] = judge(cell["template"], TOOLS, cell["said"], out, cell["reply"])
        if cell["losses"]:
            break
    owners = {loss[3] for loss in cell["losses"]}
    cell["verdict"] = "us" if "us" in owners else "template" if owners else "right"
    if outs and any(turn_of(out) != turn_of(outs[0]) for out in outs):
        cell["verdict"] = "us"
        cell["losses"].append((("cuts",), "", "", "us"))


def main():
    command, folder, *rest = sys.argv[1:]
    templates, count, reasons = load(folder)
    table = list(cells(templates))
    written = [cell for cell in table if "reply" in cell]
    for cell, outs in zip(written, read(command, written), strict=True):
        verdict(cell, outs)
    for cell in table:
        cell.setdefault("verdict", "refused")
    sums = Counter(cell["verdict"] for cell in table)
    print(f"{count} templates, {len(templates)} write calls; {len(table)} cells under {len(CUTS)} cuts: {dict(sums)}")
    if rest[:1] == ["--show"]:
        show(table, rest[1] if len(rest) > 1 else "")
        return
    archives = sorted({template.archive for template in templates})
    page = report(table, count, len(templates), archives, len(CUTS), reasons)
    path = HERE.parent.parent / "docs" / "TEMPLATES.md"
    if rest == ["--write"]:
        path.write_text(page)
    elif not path.exists() or path.read_text() != page:
        sys.exit("docs/TEMPLATES.md is not what was measured: run ci/templates.sh --write")


def show(table, word):
    for cell in table:
        if cell["verdict"] in ("us", word) and word in (cell["template"].name, cell["shape"], cell["verdict"], "", *cell["dialects"]):
            print(f"\n{cell['template'].name} | {cell['shape']} | {cell['verdict']} {cell['dialects']}")
            if "reply" in cell:
                print("  tail ", repr(cell["tail"][-60:]))
                print("  reply", repr(cell["reply"][:900]))
                print("  got  ", repr(cell["got"])[:700])
                for loss in cell["losses"]:
                    print("  ", *map(repr, loss))


if __name__ == "__main__":
    main()
