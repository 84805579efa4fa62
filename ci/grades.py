#!/usr/bin/env python3
"""Writes the grades and kinds of calls into vectors that lack them, as the engine reports them. Review the result.

Usage: ci/grades.py TOOLGLOT FILE...     TOOLGLOT: the command, for example target/debug/toolglot

A call gets `grade` and `kinds` if it is not complete; the order of keys and the other lines stay. What a vector already
says stays unchanged; `toolglot check` reports where that is wrong.
"""

import json
import pathlib
import subprocess
import sys

FIELDS = ("id", "dialect", "input", "input_b64", "tools", "native_tool_calls", "finish", "options")


def graded(vector, turn):
    """Adds the grades; returns whether the vector has changed."""
    wanted, got = vector["expect"]["calls"], turn["calls"]
    states = vector["expect"].pop("state", None)
    changed = states is not None
    if [call["name"] for call in wanted] != [call["name"] for call in got]:
        print(f"{vector['id']}: the calls are others", file=sys.stderr)
        return changed
    for have, call in zip(wanted, got):
        if call["state"] != "complete" and "grade" not in have:
            have["grade"] = call["state"]
            have["kinds"] = call["kinds"]
            print(f"{vector['id']}: {call['state']} {' '.join(call['kinds'])}")
            changed = True
    return changed


def main():
    command, *paths = sys.argv[1:]
    for path in map(pathlib.Path, paths):
        lines = path.read_text(encoding="utf-8").splitlines()
        vectors = [json.loads(line) for line in lines]
        records = "".join(json.dumps({key: one[key] for key in FIELDS if key in one}) + "\n" for one in vectors)
        ran = subprocess.run([command, "batch"], input=records.encode(), stdout=subprocess.PIPE, check=False)
        turns = [json.loads(line) for line in ran.stdout.decode().splitlines()]
        for at, (vector, turn) in enumerate(zip(vectors, turns, strict=True)):
            if "calls" not in turn:
                print(f"{vector['id']}: {turn}", file=sys.stderr)
                continue
            same = json.dumps(vector, ensure_ascii=False) == lines[at]
            if not graded(vector, turn):
                continue
            if same:
                lines[at] = json.dumps(vector, ensure_ascii=False)
            else:
                print(f"{path}:{at + 1}: write it by hand", file=sys.stderr)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
