"""Writes what chat templates make of turns without reasoning, one a line: templates.py UNPACKED. The templates are those of ci/templates.sh."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/templates"))
import check  # noqa: E402
from table import DIALECTS  # noqa: E402


def main():
    templates, _, _ = check.load(sys.argv[1])
    for cell in check.cells(templates):
        dialect, said = cell["dialects"][0], cell["said"]
        if dialect == "mistral":
            dialect = "mistral-array"
        if dialect not in DIALECTS or "reply" not in cell or said["reasoning"] or "<think>" in cell["reply"] + cell["tail"]:
            continue
        print(json.dumps({
            "id": f"{cell['template'].name} | {cell['shape']}", "dialect": dialect, "input": cell["reply"], "tools": cell["tools"],
            "text": said["text"] if said["text"] in cell["reply"] else "", "calls": said["calls"],
        }))


main()
