"""How the cost of an argument grows with its length: processor seconds of every peer, and instructions of those in Rust."""

import json
import os
import re
import shutil
import subprocess
import tempfile

import inputs
from table import PARSERS, TOKENS

KIB = [4, 16, 64, 256]
# Processor seconds after which a stream is stopped.
LIMIT = 3
# Streams of these dialects, of this many KiB, are counted under callgrind, for so many seconds.
WHICH, COUNTED, PATIENCE = ("hermes", "qwen3-coder"), [1, 4, 16], 60
TOOL = {"name": "save_note", "parameters": {"type": "object", "properties": {"title": {"type": "string"}, "body": {"type": "string"}}}}
FORMATS = {
    "hermes": '<tool_call>\n{"name": "save_note", "arguments": {"title": "a", "body": "%s"}}\n</tool_call>',
    "llama3-json": '{"name": "save_note", "parameters": {"title": "a", "body": "%s"}}',
    "kimi-k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.save_note:0<|tool_call_argument_begin|>"
    '{"title": "a", "body": "%s"}<|tool_call_end|><|tool_calls_section_end|>',
    "qwen3-coder": "<tool_call>\n<function=save_note>\n<parameter=title>\na\n</parameter>\n<parameter=body>\n%s\n</parameter>\n</function>\n</tool_call>",
    "pythonic": '[save_note(title="a", body="%s")]',
}


def text(dialect, kib):
    words = "".join(f"line {number} of the note is here, " for number in range(kib * 40))
    return FORMATS[dialect] % words[: kib * 1024]


def chunks(dialect, written):
    return inputs.group(inputs.units(written, TOKENS[dialect]), 4)


def timed(peer, dialect):
    """For each length: seconds a byte, or how far it came."""
    out = {}
    for kib in KIB:
        written = text(dialect, kib)
        rounds = 2 if kib < 64 else 1
        answers = [peer.ask(dialect, written, [TOOL], chunks(dialect, written), limit=LIMIT, quiet=True) for _ in range(rounds)]
        best = min(answers, key=lambda answer: answer["seconds"])
        if best["error"]:
            out[kib] = {"error": best["error"]}
            break
        out[kib] = {"seconds": best["seconds"], "bytes": best["fed"], "whole": best["fed"] >= len(written)}
        if not out[kib]["whole"]:
            break
    return out


def counted(peer, dialect):
    """Instructions a byte at each length, under callgrind."""
    out = {}
    for kib in COUNTED:
        written = text(dialect, kib)
        job = {"parser": PARSERS[peer.name][dialect], "tools": [TOOL], "input": written, "cuts": chunks(dialect, written), "limit": 60, "quiet": True}
        with tempfile.TemporaryDirectory() as folder:
            command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/profile", "--toggle-collect=toolglot_compare::counted", *peer.command]
            try:
                done = subprocess.run(command, input=json.dumps(job) + "\n", capture_output=True, text=True, timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                break
            found = re.search(r"^summary: (\d+)", open(f"{folder}/profile").read(), re.M) if os.path.exists(f"{folder}/profile") else None
        answer = json.loads(done.stdout or '{"fed": 0}')
        if found is None or int(found[1]) == 0 or answer["fed"] < len(written):
            break
        out[kib] = int(found[1]) / len(written)
    return out


def measure(peers):
    costs = {"seconds": {}, "instructions": {}}
    for peer in peers:
        for dialect in FORMATS:
            if dialect in PARSERS[peer.name]:
                costs["seconds"][peer.name, dialect] = timed(peer, dialect)
                if dialect in WHICH and "toolglot-compare" in peer.command[0] and shutil.which("valgrind"):
                    costs["instructions"][peer.name, dialect] = counted(peer, dialect)
        peer.close()
        print(f"{peer.name}: growth measured", flush=True)
    return costs
