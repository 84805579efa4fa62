"""Reads replies with the command `toolglot batch`, each under four chunkings."""

import json
import subprocess
import sys
from decimal import Decimal

CUTS = ("whole", "1", "7", "random:11")


def read(command, cells, cuts=CUTS):
    """For each cell, in order, the list of results under each chunking. `command` is the program, or its words up to the options."""
    lines = "".join(json.dumps(record(cell), ensure_ascii=False) + "\n" for cell in cells)
    runs = [_run(command, cut, lines) for cut in cuts]
    return [list(turns) for turns in zip(*runs, strict=True)]


def record(cell):
    out = {"input": cell["reply"], "dialects": cell["dialects"], "finish": "stop", "options": {"prompt_tail": cell["tail"][-1000:]}}
    if cell["tools"]:
        out["tools"] = cell["tools"]
    if cell.get("start"):
        out["start"] = cell["start"]
    return out


def _run(command, cut, lines):
    words = [command, "batch"] if isinstance(command, str) else command
    done = subprocess.run([*words, "--chunk", cut], input=lines, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def turn_of(out):
    """A turn in the form of `shapes`; numbers by value, without floats."""
    if "error" in out:
        return {"text": out["error"], "reasoning": "", "calls": [], "states": [], "issues": []}
    calls = [{"name": call["name"], "arguments": arguments(call)} for call in out["calls"]]
    return {
        "text": out["text"],
        "reasoning": out["reasoning"],
        "calls": calls,
        "states": [call.get("state", "complete") for call in out["calls"]],
        "issues": [issue["kind"] for issue in out.get("errors", out.get("issues", []))],
    }


def arguments(call):
    value = call["arguments"]
    return json.loads(value, parse_float=Decimal) if isinstance(value, str) else value


def same(a, b):
    """JSON equality: `true` does not equal 1, and 3 equals 3.0."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float, Decimal)) and isinstance(b, (int, float, Decimal)):
        return Decimal(repr(a) if isinstance(a, float) else a) == Decimal(repr(b) if isinstance(b, float) else b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b
