"""Cleans ShareGPT records in bulk: IN.jsonl OUT.jsonl. Calls that models wrote as text, in whatever format, become `tool_calls` of
OpenAI's messages. A record with a call that is cut off, broken or guessed is left out; at the end reasons are counted."""

import collections
import itertools
import json
import sys

import pyarrow
import toolglot
import toolglot.arrow

ROLES = {"human": "user", "gpt": "assistant", "function_call": "assistant", "observation": "tool"}
MESSAGES = pyarrow.list_(pyarrow.struct([("from", pyarrow.string()), ("value", pyarrow.string())]))


def cleaned(record, turns):
    """The record with OpenAI's messages, and why it should be left out."""
    messages, waiting, reasons = [], collections.deque(), set()
    for number, (message, turn) in enumerate(zip(record.pop("conversations"), turns)):
        role = ROLES.get(message["from"], message["from"])
        if turn is None:
            answers = {"tool_call_id": waiting.popleft()} if role == "tool" and waiting else {}
            messages.append({"role": role, "content": message["value"], **answers})
            continue
        reasons |= {error["kind"] for error in turn["errors"] if error["severity"] == "error"}
        reasons |= {"recovered" for call in turn["calls"] if call["state"] == "recovered"}
        calls = []
        for call in turn["calls"]:
            waiting.append(call["id"] or f"call_{number}_{len(calls)}")
            function = {"name": call["name"], "arguments": call["arguments"]}
            calls.append({"id": waiting[-1], "type": "function", "function": function})
        more = {"reasoning_content": turn["reasoning"]} if turn["reasoning"] else {}
        messages.append({"role": "assistant", "content": turn["text"].strip(), **more, **({"tool_calls": calls} if calls else {})})
    return {**record, "messages": messages}, reasons


def main(source, target):
    engine, counts = toolglot.Engine(fence="skip"), collections.Counter()  # a call in a code block is a sample
    with open(source, encoding="utf-8") as lines, open(target, "w", encoding="utf-8") as out:
        while batch := [json.loads(line) for line in itertools.islice(lines, 4096)]:
            talks = pyarrow.array([record["conversations"] for record in batch], MESSAGES)
            for record, turns in zip(batch, pyarrow.array(toolglot.arrow.parse(talks, engine)).to_pylist()):
                record, reasons = cleaned(record, turns)
                counts.update(reasons or ["clean"])
                if not reasons:
                    print(json.dumps(record, ensure_ascii=False), file=out)
    for reason, count in counts.most_common():
        print(f"{count:8} {reason}")


main(*sys.argv[1:])
