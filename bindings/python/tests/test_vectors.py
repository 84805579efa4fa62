"""Every vector of the repository, whole and chunked, through events."""

import base64
import json
import random
from functools import cache

import pytest
import toolglot as tg
from conftest import ROOT
from turns import exact, joined, same, turn_of

FILES = sorted((ROOT / "tests" / "vectors").glob("*.jsonl"))
ALONE = {"tool-call-xml/hermes-json-body-en"}
SEVERITY = {name: severity for _, name, severity in tg.issue_kinds()}


def test_there_are_vectors():
    lines = [line for file in FILES for line in file.read_text(encoding="utf-8").split("\n") if line.strip()]
    assert len(FILES) > 70 and len(lines) > 1000


@cache
def engine(dialects, switches):
    return tg.Engine(dialects, switches=switches)


@cache
def openers(dialects, own):
    found = {dialect.id: dialect.openers for dialect in tg.dialects(engine(dialects, ()))}
    return found.get(own)


def engines(vector):
    """The engines with which a vector must pass: its dialect alone, and all dialects together."""
    own = vector["dialect"]
    options = dict(vector.get("options", {}))
    options.pop("text", None)  # Python delivers whole characters only.
    options.pop("prompt_tail", None)  # An option of streams, not of engines.
    switches = tuple(options.pop("switches", ()))
    tools = vector.get("tools")
    sets = [(own,)]
    if not (vector.get("alone_only") or vector["id"] in ALONE or own.startswith("reasoning-")):
        member = openers(("default",), own) == openers((own,), own)
        sets.append(("default",) if member else (own, "default"))
    for names in sets:
        yield engine(names, switches).replace(tools=tools, **options)


def cuts(data, seed):
    """The data whole, byte by byte, and in a few random ways."""
    yield [data]
    yield [data[at : at + 1] for at in range(len(data))]
    chance = random.Random(seed)
    for _ in range(3):
        places = sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(1, 9)))
        edges = [0, *places, len(data)]
        yield [data[a:b] for a, b in zip(edges, edges[1:])]


class Pairs(dict):
    """An object that keeps repeated keys, and is written as it was read."""

    def __init__(self, pairs):
        super().__init__(pairs)
        self.pairs = pairs

    def items(self):
        return self.pairs


def natives(stream, calls):
    events = []
    for call in calls:
        function = call["function"]
        arguments = function.get("arguments") or ""
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments)
        events += stream.native_call(function["name"], arguments, call.get("id"))
    return events


def run(engine, chunks, vector):
    stream = engine.stream(prompt_tail=vector.get("options", {}).get("prompt_tail"))
    events = []
    # Where API tool calls are preferred they come first, as a host would deliver them.
    calls = vector.get("native_tool_calls", ())
    first = vector.get("options", {}).get("prefer") == "native"
    if first:
        events += natives(stream, calls)
    for chunk in chunks:
        events += stream.feed(chunk)
    if not first:
        events += natives(stream, calls)
    return events + stream.finish(vector.get("finish", "stop"))


def check(vector, events):
    expect = vector["expect"]
    text, reasoning, calls, issues = turn_of(events)
    wanted = expect["text"]
    if expect.get("trim"):
        text, wanted = text.strip(), wanted.strip()
    assert text == wanted
    assert reasoning.strip() == expect.get("reasoning", "").strip()
    assert [name for name, _ in calls] == [call["name"] for call in expect["calls"]]
    for (_, arguments), call in zip(calls, expect["calls"]):
        assert same(exact(arguments), call["arguments"]), (arguments, call["arguments"])
    kinds = {issue.kind for issue in issues}
    assert kinds >= set(expect["errors"])
    if all(SEVERITY[kind] == "warning" for kind in expect["errors"]):
        errors = {issue.kind for issue in issues if issue.severity == "error"}
        assert errors <= set(expect["errors"])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_vectors(file):
    for line in file.read_text(encoding="utf-8").split("\n"):
        if not line.strip():
            continue
        vector = exact(line)
        if "tools" in vector or "native_tool_calls" in vector or "options" in vector:
            plain = json.loads(line, object_pairs_hook=Pairs)
            vector |= {key: plain[key] for key in ("tools", "native_tool_calls", "options") if key in plain}
        data = vector["input"].encode() if "input" in vector else base64.b64decode(vector["input_b64"])
        for one in engines(vector):
            log = None
            for chunks in cuts(data, vector["id"]):
                events = run(one, chunks, vector)
                if log is None:
                    check(vector, events)
                    log = joined(events)
                else:
                    assert joined(events) == log, (vector["id"], chunks[:20])
