"""Writes inputs from the archives of ci/templates.sh, one a line: templates.py UNPACKED FOLDER. What chat templates make of turns without
reasoning, and the strings in the tests of vLLM's parsers, for which nothing is expected. The templates go to FOLDER.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/templates"))
import check  # noqa: E402
import outputs  # noqa: E402
from table import DIALECTS  # noqa: E402


def family(dialect, text):
    """The two ages of Mistral's tokenizer are dialects here."""
    return dialect if dialect != "mistral" else "mistral-args" if "[ARGS]" in text else "mistral-array"


def tests(unpacked):
    known, seen = dict(outputs.names()), set()
    for folder in outputs.FOLDERS:
        for path in sorted(Path(unpacked).glob(f"vllm-*/{folder}/**/test_*.py")):
            for number, text in enumerate(outputs.strings(path)):
                dialect = family(outputs.dialect_of(path, known), text)
                if dialect in DIALECTS and (dialect, text) not in seen:
                    seen.add((dialect, text))
                    yield {"id": f"{path.name} {number}", "dialect": dialect, "input": text}


def own(template):
    """The name of a model's own template. What vLLM ships for its parsers is none: it stands for a model that has another."""
    return "" if template.name.startswith("tool_chat_template_") else template.name


def keep(template, folder):
    path = Path(folder) / f"{template.name}.jinja"
    if path.exists() and path.read_text() != template.source:
        sys.exit(f"two templates are called {template.name}")
    path.write_text(template.source)


def main():
    for string in tests(sys.argv[1]):
        print(json.dumps(string))
    templates, _, _ = check.load(sys.argv[1])
    for template in templates:
        if template.dialects[0] in (*DIALECTS, "mistral"):
            keep(template, sys.argv[2])
    for cell in check.cells(templates):
        dialect, said = cell["dialects"][0], cell["said"]
        dialect = family(dialect, cell.get("reply", ""))
        if dialect not in DIALECTS or "reply" not in cell or said["reasoning"] or "<think>" in cell["reply"] + cell["tail"]:
            continue
        print(json.dumps({
            "id": f"{cell['template'].name} | {cell['shape']}", "dialect": dialect, "template": own(cell["template"]),
            "input": cell["reply"], "tools": cell["tools"], "text": said["text"] if said["text"] in cell["reply"] else "",
            "calls": said["calls"],
        }))


main()
