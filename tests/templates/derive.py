"""Derives a dialect from every template, and reads back with it what Jinja2 renders; writes docs/DERIVED.md.

    derive.py COMMAND FOLDER [--write | --show WORD]      FOLDER holds the unpacked archives

The command derives from its own renderings and its own turns; here both are Jinja2's and those of `shapes`, so a dialect is not
judged by what it was made from. Beside it, the vectors of the built-in dialect are read with the derived one.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from check import HERE, cells, find, load, verdict
from needs import table as needs_table
from read import CUTS, read
from render import ENVIRONMENTS

VECTORS = HERE.parent / "vectors"
MISSING = "no dialect"


def derive(command, template, source):
    """The file of the derived dialect, or why there is none."""
    source.write_text(template.source)
    made = source.with_suffix(".toml")
    variables = [f"{key}={json.dumps(value)}" for key, value in template.variables.items()]
    words = [command, "dialects", "derive", str(source), "--own", "-o", str(made)]
    words += [word for variable in variables for word in ("--var", variable)]
    done = subprocess.run(words, capture_output=True, text=True)
    return (made, "") if made.exists() else (None, done.stderr.strip().rpartition(": ")[2])


def vectors(command, made, dialect):
    """How many vectors of the built-in dialect give the same calls with the derived one: (same, all)."""
    path = VECTORS / f"{dialect}.jsonl"
    if not path.exists():
        return None
    cases = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    cases = [case for case in cases if "input" in case and case.get("dialect") == dialect]
    lines = ""
    for case in cases:
        record = {"input": case["input"], "dialects": ["derived"], "finish": case.get("finish", "stop")}
        for key in ("tools", "options"):
            if key in case:
                record[key] = case[key]
        lines += json.dumps(record, ensure_ascii=False) + "\n"
    done = subprocess.run([command, "batch", "--dialect-file", str(made), "--dialect", "derived"], input=lines, capture_output=True, text=True)
    same = 0
    for case, line in zip(cases, done.stdout.splitlines()):
        got = json.loads(line).get("calls", [])
        want = case["expect"].get("calls", [])
        pairs = [(call["name"], parsed(call["arguments"])) for call in got], [(call["name"], parsed(call["arguments"])) for call in want]
        same += pairs[0] == pairs[1]
    return same, len(cases)


def parsed(arguments):
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return arguments


def main():
    command, folder, *rest = sys.argv[1:]
    templates, _, reasons = load(folder)
    with tempfile.TemporaryDirectory() as made_in:
        with ThreadPoolExecutor(2) as pool:
            # Two archives may have templates of one name.
            sources = [Path(made_in) / f"{index}.jinja" for index in range(len(templates))]
            made = list(pool.map(lambda pair: derive(command, *pair), zip(templates, sources)))
        rows = []
        for template, (file, why) in zip(templates, made):
            row = {"template": template, "why": why, "verdicts": {}, "vectors": None}
            if file:
                row["vectors"] = vectors(command, file, template.dialects[0])
                template.dialects = ["derived"]
                table = list(cells([template]))
                written = [cell for cell in table if "reply" in cell]
                for cell, outs in zip(written, read([command, "batch", "--dialect-file", str(file), "--dialect", "derived"], written), strict=True):
                    verdict(cell, outs)
                row["verdicts"] = {cell["shape"]: cell for cell in table}
            rows.append(row)
    known = tomllib.loads((HERE / "templates.toml").read_text())["dialects"]
    for row in rows:
        row["known"] = known[row["template"].name][0]
        row["ours"] = [shape for shape, cell in row["verdicts"].items() if cell.get("verdict") == "us"]
    whole = sum(not row["why"] and not row["ours"] for row in rows)
    print(f"{len(rows)} templates write calls; {sum(not row['why'] for row in rows)} give a dialect, {whole} of these read everything that the template does not lose")
    if rest[:1] == ["--show"]:
        for row in rows:
            if rest[1] in ("us", row["template"].name) and (row["why"] or row["ours"]):
                show(row)
        return
    page = report(rows, whole, reasons) + needs_table(ENVIRONMENTS[0], [(name, source) for _, name, source in find(folder)])
    path = HERE.parent.parent / "docs" / "DERIVED.md"
    if rest == ["--write"]:
        path.write_text(page)
    elif not path.exists() or path.read_text() != page:
        sys.exit("docs/DERIVED.md is not what was measured: run ci/derive.sh --write")


def show(row):
    print(f"\n{row['template'].name}: {row['why'] or ', '.join(row['ours'])}")
    for shape in row["ours"]:
        cell = row["verdicts"][shape]
        print("  ", shape, repr(cell["tail"][-60:]), repr(cell["reply"][:300]))
        for loss in cell["losses"]:
            print("     ", *map(repr, loss))


HEAD = """# Derived dialects

What `toolglot dialects derive --own` makes of {count} chat templates that write calls. Generated by `ci/derive.sh --write`; the templates
and the turns are those of [TEMPLATES.md](TEMPLATES.md), rendered with Jinja2 and read under {cuts} chunkings. [DERIVE.md](DERIVE.md)
says how a dialect is derived. At the end is what each template needs of a template engine.

**{whole} of {count}** templates give a dialect by themselves that reads every turn which the template does not lose.

*vectors*: how many of the test vectors of the built-in dialect give the same calls with the derived one. They hold slips of models, which
no template shows.

| template | built-in | right | lost by the template | ours | vectors |
|---|---|---|---|---|---|
"""


def report(rows, whole, reasons):
    out = [HEAD.format(count=len(rows), cuts=len(CUTS), whole=whole)]
    for row in rows:
        if row["why"]:
            continue
        verdicts = [cell["verdict"] if "reply" in cell else "refused" for cell in row["verdicts"].values()]
        counts = " | ".join(str(verdicts.count(key) or "") for key in ("right", "template", "us"))
        same = "{} of {}".format(*row["vectors"]) if row["vectors"] else ""
        out.append(f"| {row['template'].name} | `{row['known']}` | {counts} | {same} |\n")
    out.append("\n## No dialect\n\n| template | why |\n|---|---|\n")
    for row in rows:
        if row["why"]:
            out.append(f"| {row['template'].name} | {reasons.get(row['template'].name) or row['why']} |\n")
    return "".join(out)


if __name__ == "__main__":
    main()
