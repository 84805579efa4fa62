"""Servers of three protocols that send what a check gives them, correctly or not, and a gateway process in front of one."""

import json
import pathlib
import subprocess
import threading
from dataclasses import dataclass

import cutting

APIS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages", "ollama": "/api/chat"}
EVENTS, LINES, JSON, HTML = "text/event-stream", "application/x-ndjson", "application/json", "text/html"


@dataclass
class Answer:
    body: bytes
    kind: str
    status: int = 200
    # The connection ends before the body does.
    dies: bool = False


def event(value, name=None):
    return (f"event: {name}\n" if name else "") + f"data: {json.dumps(value)}\n\n"


def openai_chunk(delta, reason=None):
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return event({"id": "chatcmpl-9", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": [choice]})


def say_openai(text, pieces, stream):
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    if not stream:
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return {"id": "chatcmpl-9", "object": "chat.completion", "created": 7, "model": "m", "choices": [choice], "usage": usage}
    chunks = [openai_chunk({"role": "assistant", "content": ""})]
    chunks += [openai_chunk({"content": piece}) for piece in pieces]
    chunks += [openai_chunk({}, "stop"), event({"id": "chatcmpl-9", "object": "chat.completion.chunk", "created": 7, "model": "m",
                                                "choices": [], "usage": usage})]
    return "".join(chunks) + "data: [DONE]\n\n"


def say_anthropic(text, pieces, stream):
    message = {"id": "msg_9", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
               "stop_sequence": None, "usage": {"input_tokens": 3, "output_tokens": 4}}
    if not stream:
        return {**message, "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
    events = [{"type": "message_start", "message": message}, {"type": "ping"},
              {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}]
    for piece in pieces:
        events.append({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}})
    events += [{"type": "content_block_stop", "index": 0},
               {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 4}},
               {"type": "message_stop"}]
    return "".join(event(one, one["type"]) for one in events)


def say_ollama(text, pieces, stream):
    def document(text, done):
        out = {"model": "m", "created_at": "2025-01-01T00:00:00Z", "message": {"role": "assistant", "content": text}, "done": done}
        return out | ({"done_reason": "stop", "prompt_eval_count": 3, "eval_count": 4} if done else {})

    if not stream:
        return document(text, True)
    return "".join(json.dumps(document(piece, False)) + "\n" for piece in pieces) + json.dumps(document("", True)) + "\n"


SAY = {"openai": say_openai, "anthropic": say_anthropic, "ollama": say_ollama}


def spoken(api, text, stream):
    """The response of a server of this protocol that writes this text."""
    said = SAY[api](text, cutting.by_lot(text, text, range(1, 7)), stream)
    if not stream:
        return Answer(json.dumps(said).encode(), JSON)
    return Answer(said.encode(), LINES if api == "ollama" else EVENTS)


class Server(cutting.Server):
    """Answers by the name of the model, `NAME/CUT`, from `answers`; keeps the last request for each name."""

    def __init__(self, api):
        super().__init__(("127.0.0.1", 0), Handler)
        self.api, self.answers, self.asked = api, {}, {}
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(cutting.Handler):
    def do_POST(self):
        ask = self.asked()
        name, how = ask["model"].rsplit("/", 1)
        if self.path.split("?")[0] != APIS[self.server.api]:
            self.send_error(404)
            return
        # As OpenAI's own server does.
        if self.server.api == "openai" and ask.get("tools") == []:
            self.send_error(400)
            return
        self.server.asked[ask["model"]] = ask
        answer = self.server.answers[name](ask.get("stream", self.server.api == "ollama"))
        self.say(answer.kind, answer.body, how, answer.status, answer.dies)


class Gateway:
    """The process in front of a server. It is terminated at the end of the block; no other process is."""

    def __init__(self, program, server, rules, folder):
        path = folder / f"{server.api}.toml"
        path.write_text(f'upstream = "{server.url}"\napi = "{server.api}"\n{rules}', encoding="utf-8")
        self.log = (folder / f"{server.api}.log").open("w")
        command = [program, "--config", str(path), "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)

    def __enter__(self):
        line = self.process.stdout.readline().strip()
        if not line.startswith("listening on "):
            raise SystemExit(f"the gateway does not start; see {self.log.name}: {pathlib.Path(self.log.name).read_text()}")
        return line.removeprefix("listening on ")

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


# Servers that misbehave.

BROKEN = 'Hi <tool_call>\n{"name": "f", "arguments": {"a": 1, "b": ["one", "two"]}}\n</tool_call>'
HALF = BROKEN[:-30]
# Every character that some reader takes for the end of a line, and one outside the Basic Multilingual Plane.
LINED = 'Hi \u2028\u2029\u0085\x0b\x0c\x1c\x1e\U0001f600.<tool_call>\n{"name": "f", "arguments": {"a": 1, "b": ["\u2028\u0085\u2029"]}}\n</tool_call>'
# Events after the last piece of text.
ENDING = {"openai": 3, "anthropic": 3, "ollama": 1}


def shortened(api, text, last=""):
    """A stream without its end."""
    mark = "\n" if api == "ollama" else "\n\n"
    events = spoken(api, text, True).body.decode().split(mark)[:-1]
    return (mark.join(events[: -ENDING[api]]) + mark + last).encode()


def streamed(api):
    return LINES if api == "ollama" else EVENTS


def error_event(api):
    error = {"type": "overloaded_error", "message": "too much"}
    return {"openai": event({"error": error}), "anthropic": event({"type": "error", "error": error}, "error"),
            "ollama": json.dumps({"error": "too much"}) + "\n"}[api]


def half(api):
    return json.dumps(SAY[api](BROKEN, [], False)).encode()[:-60]


def too_long(api):
    """The token limit is reached in the middle of the call."""
    body = [spoken(api, HALF, stream).body for stream in [False, True]]
    for old, new in [(b'"finish_reason": "stop"', b'"finish_reason": "length"'), (b"end_turn", b"max_tokens"),
                     (b'"done_reason": "stop"', b'"done_reason": "length"')]:
        body = [one.replace(old, new) for one in body]
    return lambda stream: Answer(body[stream], streamed(api) if stream else JSON)


PAGE = b"<html><body><h1>502 Bad Gateway</h1></body></html>"


def misbehaviours(api):
    """By name: the server's answer, and whether it streams."""
    kind = streamed(api)
    out = {
        "dies in a call": lambda stream: Answer(shortened(api, HALF), kind, dies=True) if stream else Answer(half(api), JSON, dies=True),
        "ends in a call": lambda stream: Answer(shortened(api, HALF), kind) if stream else Answer(half(api), JSON),
        "dies after a call": lambda stream: Answer(shortened(api, BROKEN), kind, dies=True),
        "ends after a call": lambda stream: Answer(shortened(api, BROKEN), kind),
        "sends an error in a call": lambda stream: Answer(shortened(api, HALF, error_event(api)), kind),
        "is asked too often": lambda stream: Answer(json.dumps(SLOW[api]).encode(), JSON, 429),
        "has an error page": lambda stream: Answer(PAGE, HTML, 502),
        "has a page": lambda stream: Answer(PAGE, HTML),
        "has no tokens left": too_long(api),
        "stops in a call": lambda stream: spoken(api, HALF, stream),
        "ends its lines with CR LF": lambda stream: Answer(lined(spoken(api, BROKEN, stream).body), kind if stream else JSON),
        "does not stream": lambda stream: spoken(api, BROKEN, False),
        "writes ends of lines": lambda stream: spoken(api, LINED, stream),
    }
    if api != "ollama":
        out["sends comments"] = lambda stream: changed(spoken(api, BROKEN, stream), (b"\n\n", b"\n\n: wait\n\n"))
    if api == "openai":
        out["sends no [DONE]"] = lambda stream: changed(spoken(api, BROKEN, stream), (DONE, b""))
        out["continues after its end"] = lambda stream: changed(spoken(api, BROKEN, stream), (DONE, AFTER_END))
        out["sends members without values"] = lambda stream: changed(spoken(api, BROKEN, stream), *EMPTY)
    return out


DONE = b"data: [DONE]\n\n"
AFTER_END = DONE + openai_chunk({"content": "x"}).encode()
# Members without a value, as some servers send everywhere.
NOTHING = b'"tool_calls": [], "function_call": null, "reasoning_content": null, "refusal": null, "content"'
EMPTY = [(b'"content"', NOTHING), (b'"finish_reason"', b'"logprobs": null, "stop_reason": null, "finish_reason"'),
         (b'"model": "m"', b'"model": "m", "system_fingerprint": null, "service_tier": null')]


def changed(answer, *pairs):
    for old, new in pairs:
        answer.body = answer.body.replace(old, new)
    return answer


SLOW = {"openai": {"error": {"message": "slow down", "type": "x"}}, "ollama": {"error": "slow down"},
        "anthropic": {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}}


def lined(body):
    return body.replace(b"\n", b"\r\n")
