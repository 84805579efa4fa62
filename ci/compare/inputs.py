"""What the parsers read: vectors, and what chat templates write. And the ways in which it is cut."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from table import DIALECTS, TOKENS

ROOT = Path(__file__).resolve().parents[2]
NOTHING = {"name": "nothing", "parameters": {"type": "object", "properties": {}}}
# How many two-way cuts of each kind; they are spread evenly.
PLACES = 8


@dataclass
class Input:
    source: str  # "vectors", "templates" or "tests"
    id: str
    dialect: str
    text: str
    tools: list
    content: str
    calls: list  # of (name, arguments)
    clean: bool  # it keeps to its format
    template: str = ""  # the model's own chat template that wrote it
    said: dict = field(default_factory=dict)  # what each peer made of it: see drive.py


def kind(value):
    """A JSON Schema for a value; none says nothing."""
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return {"type": kinds[type(value)]} if type(value) in kinds else {}


def tools_of(calls):
    """Declarations of the tools that are called, where an input has none: servers read calls only if tools are declared."""
    found = {}
    for name, arguments in calls:
        properties = found.setdefault(name, {})
        for key, value in arguments.items():
            properties[key] = kind(value) if properties.get(key, kind(value)) == kind(value) else {}
    return [{"name": name, "parameters": {"type": "object", "properties": one}} for name, one in found.items()]


def plain(tool):
    tool = tool.get("function") or tool
    return {"name": tool["name"], "parameters": tool.get("parameters") or NOTHING["parameters"]}


def vectors():
    """Vectors without options, API calls and reasoning, which other parts of servers read; calls of declared tools only."""
    for stem in [*DIALECTS, "mistral"]:
        for line in (ROOT / "tests/vectors" / f"{stem}.jsonl").read_text(encoding="utf-8").split("\n"):
            vector = json.loads(line) if line.strip() else {}
            expect = vector.get("expect", {})
            if "input" not in vector or vector.get("options") or vector.get("native_tool_calls") or expect.get("reasoning"):
                continue
            if vector.get("finish", "stop") != "stop":
                continue
            calls = [(call["name"], call["arguments"]) for call in expect["calls"]]
            tools = [plain(tool) for tool in vector.get("tools") or ()] or tools_of(calls) or [NOTHING]
            if not {name for name, _ in calls} <= {tool["name"] for tool in tools}:
                continue
            dialect = stem if stem != "mistral" else "mistral-args" if "[ARGS]" in vector["input"] else "mistral-array"
            yield Input("vectors", vector["id"], dialect, vector["input"], tools, expect["text"], calls, not expect.get("errors"))


def rendered(path, calls_in):
    """What templates.py wrote. Of the strings of tests, those in which toolglot finds calls (`calls_in`), which are then declared."""
    for line in path.read_text(encoding="utf-8").splitlines():
        cell = json.loads(line)
        if "calls" not in cell:
            found = calls_in(cell["dialect"], cell["input"])
            if found:
                yield Input("tests", cell["id"], cell["dialect"], cell["input"], tools_of(found), "", found, True)
            continue
        calls = [(call["name"], call["arguments"]) for call in cell["calls"]]
        tools = [plain(tool) for tool in cell["tools"]]
        yield Input("templates", cell["id"], cell["dialect"], cell["input"], tools, cell["text"], calls, True, cell["template"])


def units(text, tokens):
    """Lengths: special tokens whole, everything else by characters."""
    out, at = [], 0
    while at < len(text):
        length = next((len(token) for token in tokens if text.startswith(token, at)), 1)
        out.append(length)
        at += length
    return out


def group(lengths, size):
    """Joins neighbours to pieces of about this many characters; a special token stays alone."""
    out, last = [], 0
    for length in lengths:
        if length == 1 and 0 < last < size:
            out[-1] += 1
            last += 1
        else:
            out.append(length)
            last = 1 if length == 1 else 0
    return out


def spread(places):
    """At most PLACES of them."""
    step = max(1, len(places) / PLACES)
    return [places[int(number * step)] for number in range(min(PLACES, len(places)))]


def halves(text, places):
    return [[place, len(text) - place] for place in spread(places)]


def cuts(text, dialect):
    """Lists of lengths of chunks, by kind: `steady`, what a server sends token by token; `whole`, other cuts that keep special tokens
    whole; `inside`, cuts that do not."""
    lengths = units(text, TOKENS[dialect])
    bounds, at = set(), 0
    for length in lengths:
        bounds.add(at)
        at += length
    every = range(1, len(text))
    return {
        "steady": [group(lengths, 4), lengths],
        "whole": [[len(text)], group(lengths, 16), *halves(text, [place for place in every if place in bounds])],
        "inside": [group([1] * len(text), 4), [1] * len(text), *halves(text, [place for place in every if place not in bounds])]
        if any(length > 1 for length in lengths)
        else [],
    }
