#!/usr/bin/env python3
"""Writes `signatures.json`: the server interfaces that the plug-ins implement, read from the servers' sources.

signatures.py [--check] VLLM_FOLDER SGLANG_FOLDER

The folders hold the unpacked wheels. With `--check`, exits with status 1 if the stored file differs from the sources.
"""

import ast
import json
import re
import sys
from pathlib import Path

STORED = Path(__file__).with_name("signatures.json")
WANTED = {
    "vllm": {
        "vllm/tool_parsers/abstract_tool_parser.py": ["ToolParser", "ToolParserManager"],
        "vllm/reasoning/abs_reasoning_parsers.py": ["ReasoningParser", "ReasoningParserManager"],
        "vllm/entrypoints/generate/base/protocol.py": [
            "DeltaFunctionCall",
            "DeltaMessage",
            "DeltaToolCall",
            "ExtractedToolCallInformation",
            "FunctionCall",
            "ToolCall",
        ],
    },
    "sglang": {
        "sglang/srt/function_call/base_format_detector.py": ["BaseFormatDetector"],
        "sglang/srt/function_call/core_types.py": ["StreamingParseResult", "StructureInfo", "ToolCallItem"],
        "sglang/srt/function_call/function_call_parser.py": ["FunctionCallParser"],
    },
}


def methods(node):
    """`{name: parameters}` of public methods, and of fields with their annotations; `(bases)` are the classes it is made of."""
    found = {"(bases)": [ast.unparse(base) for base in node.bases]}
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and (item.name == "__init__" or not item.name.startswith("_")):
            spec = item.args
            names = [arg.arg for arg in spec.posonlyargs + spec.args]
            names += [f"*{spec.vararg.arg}"] if spec.vararg else []
            names += [f"{arg.arg}=" for arg in spec.kwonlyargs]
            names += [f"**{spec.kwarg.arg}"] if spec.kwarg else []
            found[item.name] = names
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            kind = ast.unparse(item.annotation)
            # The value, a long dictionary of classes, does not matter here.
            found[item.target.id] = re.sub(r"\s+", " ", kind)
    return found


def read(folders):
    out = {}
    for server, files in WANTED.items():
        root = Path(folders[server])
        info = next(root.glob(f"{server}-*.dist-info")).name
        out[server] = {"version": info.removeprefix(f"{server}-").removesuffix(".dist-info"), "classes": {}}
        for file, names in files.items():
            tree = ast.parse((root / file).read_text(encoding="utf-8"))
            classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
            module = file.removesuffix(".py").replace("/", ".")
            for name in names:
                out[server]["classes"][f"{module}.{name}"] = methods(classes[name])
    return out


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    found = read(dict(zip(WANTED, arguments)))
    if "--check" not in sys.argv:
        STORED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        return 0
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    faults = 0
    for server, now in found.items():
        for name, members in now["classes"].items():
            for member, shape in members.items():
                if stored[server]["classes"][name].get(member) != shape:
                    faults += 1
                    print(f"{name}.{member} is {shape} in {server} {now['version']}; run tests/plugins/signatures.py")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
