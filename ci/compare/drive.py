"""Runs every parser over the same inputs and writes docs/COMPARISON.md's figures: see ci/compare.sh.

    drive.py FOLDER [--write] [--show PEER DIALECT]

FOLDER holds what ci/compare.sh has fetched and built, and `versions.txt`, the peers that are there: `NAME VERSION COMMAND...`.
"""

import json
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path

import growth
import inputs
import report
from table import ENDS, PARSERS, SPECIAL, TOKENS

# Processor seconds for one stream, and seconds after which a parser counts as hung.
LIMIT, HUNG = 20, 120


class Peer:
    """A parser in a process of its own, which is started again when it dies."""

    def __init__(self, name, version, command):
        self.name, self.version, self.command, self.process = name, version, command, None

    def ask(self, dialect, text, tools, cuts, limit=LIMIT, quiet=False, template=""):
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        tokens = TOKENS[dialect]
        job = {"parser": PARSERS[self.name][dialect], "template": template, "tokens": tokens, "ends": [one for one in tokens if one in ENDS],
               "special": [one for one in tokens if one in SPECIAL], "tools": tools, "input": text, "cuts": cuts, "limit": limit, "quiet": quiet}
        alarm = threading.Timer(HUNG, self.process.kill)
        alarm.start()
        try:
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
            answer = json.loads(self.process.stdout.readline())
        except (OSError, ValueError):
            answer = {"text": "", "calls": {}, "error": "the process ended", "fed": 0, "seconds": 0}
            self.process.kill()
            self.process.wait()
            self.process = None
        finally:
            alarm.cancel()
        return answer

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process = None


def canonical(value):
    """A value that equals another one if and only if they are the same JSON value; numbers by value."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return (type(value).__name__, value)
    if isinstance(value, (int, float, Decimal)):
        return ("number", Decimal(repr(value) if isinstance(value, float) else value).normalize())
    if isinstance(value, list):
        return tuple(map(canonical, value))
    return tuple(sorted((key, canonical(one)) for key, one in value.items()))


def calls_of(answer):
    """The calls: (name, value of the arguments, or None if they are not JSON)."""
    out = []
    for _, (name, arguments) in sorted(answer["calls"].items(), key=lambda item: int(item[0])):
        try:
            value = canonical(json.loads(arguments or "{}", parse_float=Decimal))
        except (ValueError, ArithmeticError):
            value = None
        out.append((name, value))
    return out


def outcome(answer):
    """What decides whether two readings are the same: calls by value, text without white space at its ends, an exception."""
    calls = [(name, arguments) if value is None else (name, value) for (name, value), (_, arguments) in zip(calls_of(answer), pieces(answer))]
    return repr((calls, bool(answer["error"]))), answer["text"].strip()


def pieces(answer):
    return [call for _, call in sorted(answer["calls"].items(), key=lambda item: int(item[0]))]


def fault(one, answer):
    """The class of a wrong reading of the calls, or None."""
    if answer["error"]:
        return "exception"
    got, wanted = calls_of(answer), [(name, canonical(arguments)) for name, arguments in one.calls]
    if got == wanted:
        return None
    if len(got) != len(wanted):
        return "call missing" if len(got) < len(wanted) else "call too many"
    if any(value is None for _, value in got):
        return "arguments not JSON"
    return "other name" if [name for name, _ in got] != [name for name, _ in wanted] else "other arguments"


def letters(text):
    out = {}
    for letter in text:
        if not letter.isspace():
            out[letter] = out.get(letter, 0) + 1
    return out


def more(some, others):
    """How many letters of `some` are not among `others`, as multisets."""
    there = letters(others)
    return sum(max(0, count - there.get(letter, 0)) for letter, count in letters(some).items())


def read(peer, one):
    """Everything about one input and one peer."""
    answers = {"once": peer.ask(one.dialect, one.text, one.tools, None, template=one.template)}
    kinds = {}
    for name, lists in inputs.cuts(one.text, one.dialect).items():
        kinds[name] = [peer.ask(one.dialect, one.text, one.tools, lengths, template=one.template) for lengths in lists]
    answers["stream"] = kinds["steady"][0]
    out = {"depends": {}, "answers": answers, "exceptions": sorted({a["error"] for a in [answers["once"], *sum(kinds.values(), [])] if a["error"]})}
    seen = []
    for name in ("steady", "whole", "inside"):
        seen += map(outcome, kinds[name])
        out["depends"][name] = (len(set(seen)) > 1, len({calls for calls, _ in seen}) > 1)
    out["unlike"] = outcome(answers["once"])[0] != outcome(answers["stream"])[0]
    for way in ("stream", "once"):
        answer = answers[way]
        given = answer["text"] + "".join(name + arguments for name, arguments in pieces(answer))
        out[way] = {"fault": fault(one, answer), "lost": more(one.content, given), "leaked": more(answer["text"], one.content)}
    return out


def parsed(answer):
    """The calls, for a declaration of their tools."""
    return [(name, json.loads(arguments)) for name, arguments in pieces(answer)]


def peer_of(line):
    name, version, *command = line.split()
    return Peer(name, version, command)


def show(peer, dialect, everything):
    for one in everything:
        said = one.said.get(peer)
        if one.dialect == dialect and said and (said["stream"]["fault"] or said["once"]["fault"] or said["stream"]["lost"] or any(map(any, said["depends"].values()))):
            print(f"\n{one.id} {'' if one.clean else '(deviates)'}: {said['depends']}, {said['exceptions']}\n  input  {one.text!r}\n  wanted {one.content!r} {one.calls}")
            for way in ("stream", "once"):
                print(f"  {way:6} {said[way]} {said['answers'][way]['text']!r} {pieces(said['answers'][way])}")


def main():
    folder, rest = Path(sys.argv[1]), sys.argv[2:]
    lines = (folder / "versions.txt").read_text().splitlines()
    peers, own = [peer_of(line) for line in lines], peer_of(lines[0])
    if rest[:1] == ["--show"]:
        peers = [peer for peer in peers if peer.name == rest[1]]
    everything = list(inputs.vectors())
    if (folder / "cells.jsonl").exists():
        everything += inputs.rendered(folder / "cells.jsonl", lambda dialect, text: parsed(own.ask(dialect, text, [], None)))
        own.close()
    for peer in peers:
        for one in everything:
            if one.dialect in PARSERS[peer.name] and (rest[:1] != ["--show"] or one.dialect == rest[2]):
                one.said[peer.name] = read(peer, one)
        peer.close()
        print(f"{peer.name} {peer.version}: {sum(peer.name in one.said for one in everything)} inputs", flush=True)
    if rest[:1] == ["--show"]:
        show(rest[1], rest[2], everything)
        return
    costs = growth.measure(peers)
    report.write(peers, everything, costs, "--write" in rest)


if __name__ == "__main__":
    main()
