#!/usr/bin/env python3
"""Reads what `toolglot parse --output openai` writes with the official OpenAI client.

A local server replays the bytes, split in hostile ways; the message is assembled by hand from the client's chunks and
by the client's own accumulator. Both must equal the turn of `--output turn`, and the expectation of the vector.

    openai_client.py TOOLGLOT VECTORS.jsonl...
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import cutting
import openai
from cutting import CUTS, Server

# Vectors per file; those with calls and those without alternate.
EACH = 4
MESSAGES = [{"role": "user", "content": "go"}]

# The server's responses, by the name of the requested model: content type and body.
BODIES = {}


class Handler(cutting.Handler):
    def do_POST(self):
        kind, body = BODIES[self.asked()["model"]]
        self.say(kind, body, self.path.split("/")[1])


class Case:
    """One model output, run once in each mode."""

    def __init__(self, program, vector, folder):
        self.id = vector["id"]
        self.vector = vector
        args = ["--dialect", vector["dialect"]]
        if vector.get("tools"):
            tools = folder / (self.id.replace("/", "-") + ".json")
            tools.write_text(json.dumps(vector["tools"]), encoding="utf-8")
            args += ["--tools", str(tools)]
        finish = vector.get("finish", "stop")
        self.finish = finish
        self.program, self.args = program, [*args, "--finish", finish, "--chunk", "3"]
        self.turn = json.loads(self.run("turn"))
        for mode in ["live", "at-close"]:
            for rule in ["withhold", "deliver"]:
                flags = ["--calls", mode, "--recovered", rule, "--model", "vector"]
                BODIES[f"{self.id} {mode} {rule}"] = ("text/event-stream", self.run("openai", *flags))
        BODIES[f"{self.id} completion"] = ("application/json", self.run("completion"))

    def run(self, output, *flags):
        command = [self.program, "parse", *self.args, "--output", output, *flags]
        done = subprocess.run(command, input=self.vector["input"].encode(), stdout=subprocess.PIPE, check=True)
        return done.stdout

    def calls(self, rule):
        return [call for call in self.turn["calls"] if rule == "deliver" or call["state"] != "recovered"]

    def reason(self, calls, void):
        if self.finish == "length":
            return "length"
        return "tool_calls" if calls and not void else "stop"


def check(what, got, expected):
    if got != expected:
        raise AssertionError(f"{what}: {got!r} is not {expected!r}")


def check_content(got, text):
    """Checks that markers in text that was returned are escaped, so that no reader takes them for a call."""
    if got != text:
        check("content without its escapes", got.replace("\\", ""), text.replace("\\", ""))
        assert len(got) > len(text), "only escapes may be added"


def is_json(text):
    try:
        json.loads(text)
        return True
    except json.JSONDecodeError:
        return False


def by_hand(chunks):
    """Assembles a message; ids and names must come once, indices in order."""
    content, reasoning, calls, reason, void = "", "", [], None, []
    for place, chunk in enumerate(chunks):
        choice = chunk.choices[0]
        check("role", choice.delta.role, "assistant" if place == 0 else None)
        check("nothing after the reason", reason, None)
        content += choice.delta.content or ""
        reasoning += getattr(choice.delta, "reasoning_content", None) or ""
        for piece in choice.delta.tool_calls or []:
            if piece.index == len(calls):
                check("type", piece.type, "function")
                assert piece.id and piece.function.name
                calls.append([piece.id, piece.function.name, ""])
            else:
                check("index", piece.index, len(calls) - 1)
                check("id and name once", (piece.id, piece.function.name), (None, None))
            calls[piece.index][2] += piece.function.arguments
        reason = choice.finish_reason
        void = ((chunk.model_extra or {}).get("toolglot") or {}).get("void", [])
    check("ids differ", len({call[0] for call in calls}), len(calls))
    return content, reasoning, calls, reason, void


def accumulated(client, model):
    """The message of the client's own accumulator, and the arguments that it reported as done."""
    done = []
    with client.chat.completions.stream(model=model, messages=MESSAGES) as stream:
        for event in stream:
            if event.type == "tool_calls.function.arguments.done":
                done.append((event.index, event.arguments))
        return stream.get_final_completion().choices[0], done


def check_stream(client, case, mode, rule):
    model = f"{case.id} {mode} {rule}"
    expected = case.calls(rule)
    with client.chat.completions.create(model=model, messages=MESSAGES, stream=True) as stream:
        content, reasoning, calls, reason, void = by_hand(stream)
    check_content(content, case.turn["text"])
    check("reasoning", reasoning, case.turn["reasoning"])
    check("reason", reason, case.reason(expected, void))
    if mode == "at-close":
        check("void", void, [])
    for index in void:
        # It cannot be taken for a complete call, with or without checking the reason. (Except for a call whose block
        # continued with another call; see the documentation of the sink.)
        whole = is_json(calls[index][2]) and index + 1 not in void
        check("a void call is whole", (whole, calls[index][2] == ""), (False, False))
    stand = [(name, json.loads(text)) for i, (_, name, text) in enumerate(calls) if i not in void]
    check("calls", stand, [(call["name"], call["arguments"]) for call in expected])

    choice, done = accumulated(client, model)
    check("accumulated content", choice.message.content or "", content)
    check("accumulated reason", choice.finish_reason, reason)
    tools = choice.message.tool_calls or []
    check("accumulated ids", [call.id for call in tools], [call[0] for call in calls])
    texts = [call.function.arguments for call in tools]
    check("accumulated arguments", texts, [call[2] for call in calls])
    check("accumulated names", [call.function.name for call in tools], [call[1] for call in calls])
    check("arguments called done", done, list(enumerate(texts)))


def check_completion(client, case):
    answer = client.chat.completions.create(model=f"{case.id} completion", messages=MESSAGES)
    choice, expected = answer.choices[0], case.calls("withhold")
    check_content(choice.message.content or "", case.turn["text"])
    check("reason", choice.finish_reason, case.reason(expected, []))
    calls = choice.message.tool_calls or []
    calls = [(call.function.name, json.loads(call.function.arguments)) for call in calls]
    check("calls", calls, [(call["name"], call["arguments"]) for call in expected])


def check_vector(case):
    """Checks that the turn is what the vector expects; the streams are compared with the turn elsewhere."""
    expected = [(call["name"], call["arguments"]) for call in case.vector["expect"].get("calls", [])]
    check("turn", [(call["name"], call["arguments"]) for call in case.turn["calls"]], expected)


def check_ends(program, clients):
    """How a stream ends that was truncated."""
    text = b'<tool_call name="f"><param name="a">1</param></tool_call>'
    for finish in ["error", "cancelled"]:
        command = [program, "parse", "--output", "openai", "--finish", finish]
        body = subprocess.run(command, input=text, stdout=subprocess.PIPE, check=True).stdout
        BODIES[finish] = ("text/event-stream", body)
        for how, client in clients.items():
            reason, raised = None, False
            try:
                for chunk in client.chat.completions.create(model=finish, messages=MESSAGES, stream=True):
                    reason = chunk.choices[0].finish_reason or reason
            except openai.APIError as error:
                raised = "broke off" in str(error)
            check(f"{finish} {how}", (reason, raised), (None, finish == "error"))


def choose(files):
    for name in files:
        with open(name, encoding="utf-8") as file:
            vectors = [json.loads(line) for line in file if line.strip()]
        plain = [v for v in vectors if "input" in v and not v.get("options") and not v.get("native_tool_calls")]
        some = [v for v in plain if v["expect"].get("calls")]
        none = [v for v in plain if not v["expect"].get("calls")]
        yield from some[: EACH // 2] + none[: EACH // 2]


def main():
    program, *files = sys.argv[1:]
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    clients = {
        how: openai.OpenAI(base_url=f"{base}/{how}/v1", api_key="none", max_retries=0, timeout=60) for how in CUTS
    }
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        cases = list(pool.map(lambda vector: Case(program, vector, pathlib.Path(folder)), choose(files)))
    faults, streams, calls, voids = [], 0, 0, 0
    for place, case in enumerate(cases):
        how = CUTS[place % len(CUTS)]
        calls += len(case.turn["calls"])
        voids += b'"void"' in BODIES[f"{case.id} live withhold"][1]
        try:
            check_vector(case)
            for mode in ["live", "at-close"]:
                for rule in ["withhold", "deliver"]:
                    check_stream(clients[how], case, mode, rule)
                    streams += 2
            check_completion(clients[how], case)
        except (AssertionError, ValueError, openai.OpenAIError) as error:
            faults.append(f"{case.id} ({how}): {error}")
    check_ends(program, clients)
    server.shutdown()
    for fault in faults:
        print(fault)
    print(f"openai {openai.__version__}: {len(cases)} outputs with {calls} calls, {voids} of them with void ones, "
          f"{streams} streams read, {len(faults)} outputs wrong")
    # Checking nothing must not pass.
    sys.exit(1 if faults or calls < 20 or voids < 3 else 0)


if __name__ == "__main__":
    main()
