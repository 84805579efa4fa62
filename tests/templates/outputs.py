"""What the servers' own tests write for models: every string of their test modules, parsed under several chunkings.

    outputs.py TOOLGLOT UNPACKED [--show DIALECT]

The strings are taken from the modules' syntax trees; nothing is imported or run. Whether they are whole outputs or pieces, the
result must not depend on the chunking. `--show` prints it for review: what is left in the text, and what is hidden.
"""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

CUTS = ["whole", "1", "7", "random:3"]
FOLDERS = ["tests/tool_parsers", "tests/parser", "tests/reasoning", "tests/entrypoints/tool_parsers", "tests/tool_use"]
# Fewer would mean that the layout of the archive has changed.
LEAST = 1500


def text(node, known):
    """The text of an expression, as far as it is literal."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.JoinedStr):
        parts = [text(part.value if isinstance(part, ast.FormattedValue) else part, known) for part in node.values]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [text(node.left, known), text(node.right, known)]
    else:
        return None
    return None if None in parts else "".join(parts)


def strings(path):
    tree = ast.parse(path.read_text())
    known, inner, out = {}, set(), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = text(node.value, known)
            if value is not None:
                known.setdefault(node.targets[0].id, value)
    for node in ast.walk(tree):
        whole = text(node, known) if isinstance(node, (ast.Constant, ast.JoinedStr, ast.BinOp)) else None
        if whole is not None and id(node) not in inner:
            inner.update(id(part) for part in ast.walk(node))
            out.append(whole)
    return out


def names():
    """Every name of a dialect, with the dialect."""
    for path in sorted((Path(__file__).parents[2] / "src/dialect/builtin").glob("*.toml")):
        dialect = tomllib.loads(path.read_text())
        for name in [dialect["id"], *dialect.get("aliases", [])]:
            yield re.sub(r"[-_.]", "", name.lower()), dialect["id"]


def dialect_of(path, known):
    """The dialect with the longest name that a module's name begins with."""
    word = re.sub(r"[-_.]", "", path.stem.removeprefix("test_"))
    fits = [name for name in known if word.startswith(name)]
    return known[max(fits, key=len)] if fits else None


def main():
    toolglot, unpacked = sys.argv[1], Path(sys.argv[2])
    known = dict(names())
    inputs = {}
    for server in sorted(unpacked.iterdir()):
        for folder in FOLDERS:
            for path in sorted((server / folder).rglob("test_*.py")):
                dialect = dialect_of(path, known) or "default"
                inputs.setdefault(dialect, {}).update(dict.fromkeys(strings(path)))
    total = failed = 0
    for dialect, own in sorted(inputs.items()):
        records = "".join(json.dumps({"input": one}) + "\n" for one in own)
        read = []
        for cut in CUTS:
            command = [toolglot, "batch", "--dialect", dialect, "--chunk", cut]
            done = subprocess.run(command, input=records, capture_output=True, text=True, check=True)
            read.append(done.stdout.splitlines())
        for one, turns in zip(own, zip(*read, strict=True), strict=True):
            total += 1
            if len(set(turns)) > 1:
                failed += 1
                print(f"{dialect}: what is read depends on the cut: {one!r}")
            if sys.argv[3:] == ["--show", dialect]:
                print(f"{one!r}\n    {turns[0]}")
    print(f"{total} strings of tests, {len(inputs)} dialects, {failed} depend on the cut")
    sys.exit(failed > 0 or total < LEAST)


if __name__ == "__main__":
    main()
