#!/usr/bin/env python3
"""The README's agent, run by the official client of OpenAI: several rounds of calls, results and answers.

The model is `examples/agent/replies.txt`, behind a server that knows no tools: it refuses requests with any. `toolglot gateway --mode
prompt` is in front of it. The agent here is a loop around the client; `toolglot call` executes its calls, under the policy of the
example.

    gateway_agent.py TOOLGLOT
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import openai

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/agent"
TASK = "How long is the note?"
TIDES = {"name": "tides:high_water", "description": "Tells when the water is high", "parameters": {"type": "object"}}
# What comes of each call of the example, in order.
EXPECTED = [
    ("count_words", '{"path": "note.txt"}', "6 note.txt"),
    ("count_words", '{"path": "/etc/hosts"}', "denied: only files of this folder may be read"),
    ("report", '{"path": "note.txt"}', "The ferry leaves Leith at noon."),
    ("tides:high_water", "{}", "03:10 and 15:40"),
    ("clerk", '{"task": "When does the last ferry leave?"}', "17:30"),
]


class Model(BaseHTTPRequestHandler):
    """A server without tools. Its next reply depends on the number of replies in the conversation."""

    protocol_version = "HTTP/1.1"
    replies = [part.strip() for part in (EXAMPLE / "replies.txt").read_text(encoding="utf-8").split("\n---\n")]

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        asked = json.loads(body)
        self.server.asked.append(asked)
        odd = [key for key in ["tools", "tool_choice", "parallel_tool_calls", "functions"] if key in asked]
        odd += [message["role"] for message in asked["messages"] if message["role"] not in ["system", "user", "assistant"]]
        odd += ["tool_calls" for message in asked["messages"] if "tool_calls" in message]
        if odd:
            return self.say(400, "application/json", json.dumps({"error": {"message": f"unknown: {odd}", "type": "x"}}))
        said = sum(message["role"] == "assistant" for message in asked["messages"])
        text = self.replies[said]
        head = {"id": f"chatcmpl-{said}", "created": 7, "model": asked["model"]}
        if not asked.get("stream"):
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            return self.say(200, "application/json", json.dumps(head | {"object": "chat.completion", "choices": [choice]}))
        pieces = [text[at:at + 5] for at in range(0, len(text), 5)]
        deltas = [({"role": "assistant", "content": ""}, None), *(({"content": piece}, None) for piece in pieces), ({}, "stop")]
        choices = [[{"index": 0, "delta": delta, "finish_reason": reason}] for delta, reason in deltas]
        chunks = [head | {"object": "chat.completion.chunk", "choices": choice} for choice in choices]
        return self.say(200, "text/event-stream", "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n")

    def say(self, status, kind, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def tools():
    """The tools of the example, in OpenAI's form."""
    own = tomllib.loads((EXAMPLE / "tools.toml").read_text(encoding="utf-8"))["tools"]
    keys = ["name", "description", "parameters"]
    return [{"type": "function", "function": {key: tool[key] for key in keys if key in tool}} for tool in [*own, TIDES]]


def executed(program, name, arguments):
    """The result of a call, or why it has none."""
    command = [program, "call", "--tools", "tools.toml", "--policy", "policy.toml", "--yes-to", "read_file", name, arguments]
    ran = subprocess.run(command, cwd=EXAMPLE, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    return ran.stdout if ran.returncode == 0 else ran.stderr


def reply(client, messages, stream):
    """The next message of the model."""
    ask = {"model": "m", "messages": messages, "tools": tools()}
    if not stream:
        choice = client.chat.completions.create(**ask).choices[0]
    else:
        with client.chat.completions.stream(**ask) as events:
            for _ in events:
                pass
            choice = events.get_final_completion().choices[0]
    expected = "tool_calls" if choice.message.tool_calls else "stop"
    if choice.finish_reason != expected:
        raise SystemExit(f"the reason is {choice.finish_reason}, not {expected}: {choice}")
    return choice.message


def run(program, client, stream):
    """The agent: returns its answer, and its calls with their results."""
    messages, done = [{"role": "user", "content": TASK}], []
    for _ in range(10):
        message = reply(client, messages, stream)
        messages.append(message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
        for call in message.tool_calls or []:
            name, arguments = call.function.name, call.function.arguments
            result = executed(program, name, arguments)
            done.append((name, json.loads(arguments), result))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        if not message.tool_calls:
            return message.content, done
    raise SystemExit(f"it does not end: {messages}")


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.asked = []
    Thread(target=server.serve_forever, daemon=True).start()
    upstream = f"http://127.0.0.1:{server.server_port}"
    command = [program, "gateway", "--upstream", upstream, "--mode", "prompt", "--dialect", "hermes", "--listen", "127.0.0.1:0"]
    with tempfile.TemporaryFile("w+") as log, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as gateway:
        try:
            line = gateway.stdout.readline().strip()
            if not line.startswith("listening on "):
                log.seek(0)
                raise SystemExit(f"the gateway does not start: {line} {log.read()}")
            client = openai.OpenAI(base_url=line.removeprefix("listening on ") + "/v1", api_key="none", max_retries=0, timeout=60)
            for stream in [False, True]:
                text, calls = run(program, client, stream)
                if text != Model.replies[-1] or len(calls) != len(EXPECTED):
                    raise SystemExit(f"streamed {stream}: {text!r}, {calls}")
                for (name, arguments, result), (own, given, words) in zip(calls, EXPECTED, strict=True):
                    if (name, arguments) != (own, json.loads(given)) or words not in result:
                        raise SystemExit(f"streamed {stream}: {name} {arguments}: {result!r} is not {own} {given}: {words!r}")
                # The model has read each result as text.
                last = json.dumps(server.asked[-1]["messages"])
                for _, _, words in EXPECTED:
                    if words not in last or "<tool_response>" not in last:
                        raise SystemExit(f"streamed {stream}: {words!r} is not in {last}")
        finally:
            gateway.terminate()
    server.shutdown()
    print(f"openai: the agent made {len(EXPECTED)} calls and answered, streamed and not; the server was asked {len(server.asked)} times")


if __name__ == "__main__":
    main()
