#!/usr/bin/env python3
"""Talks through the gateway with the official clients of OpenAI, Anthropic and Ollama.

A server sends one vector of each dialect as text, in each of the three protocols. The gateway in front of it gives every client
the calls: streamed and not streamed they are the same, and both are what the vector expects. Then the clients answer the calls,
also where the server does not support tools, force calls, send images, and servers misbehave.

    gateway_clients.py GATEWAY PACKAGES VECTORS.jsonl...

PACKAGES is a folder with the JavaScript clients, or `-`: without them.
"""

import json
import pathlib
import sys
import tempfile
from importlib import metadata

import anthropic
import ollama
import openai
from cutting import CUTS
from gateway_choices import check_forced, check_images, check_recovered, check_told, recovered_rules
from gateway_others import check_async, check_node
from gateway_readers import FACES, Clients, Reply, Wrong, check, claim, tools_for
from gateway_servers import APIS, LINED, Gateway, Server, misbehaviours, spoken

QUESTION = [{"role": "user", "content": "go"}]


def choose(files):
    """For each dialect, the first vector whose calls are all complete; without calls, the first one with reasoning."""
    found, thoughts = {}, {}
    for name in files:
        with open(name, encoding="utf-8") as file:
            vectors = [json.loads(line) for line in file if line.strip()]
        for vector in vectors:
            odd = any(vector.get(key) for key in ["options", "native_tool_calls"]) or vector.get("finish", "stop") != "stop"
            if odd or "input" not in vector:
                continue
            calls, home = vector["expect"]["calls"], pathlib.Path(name).stem == vector["dialect"]
            if home and calls and all(call.get("grade", "complete") == "complete" for call in calls):
                found.setdefault(vector["dialect"], vector)
            if home and not calls and vector["expect"].get("reasoning") and vector["expect"]["text"]:
                thoughts.setdefault(vector["dialect"], vector)
    return list((thoughts | found).values())


def dense(text):
    return "".join(text.split())


def check_reply(face, vector, reply):
    expect = vector["expect"]
    check("calls", reply.read(), [(call["name"], call["arguments"]) for call in expect["calls"]])
    check("all calls", len(reply.calls), len(expect["calls"]))
    strip = str.strip if expect.get("trim") else str
    if FACES[face].blocks:
        # White space alone is no block.
        strip = dense
    check("text", strip(reply.text), strip(expect["text"]))
    check("thought", reply.thought.strip(), expect.get("reasoning", "").strip())
    check("reason", reply.reason, FACES[face].called if expect["calls"] else FACES[face].plain)


def check_vector(clients, vector, how):
    for face, own in FACES.items():
        first = None
        for way in own.ways:
            reply = Reply()
            try:
                way(clients, f"{vector['dialect']}/{how}", QUESTION, tools_for(face, vector), reply)
                check_reply(face, vector, reply)
                first = first or reply
                check("streamed and not", (reply.text, reply.thought), (first.text, first.thought))
                yield None
            except Exception as error:
                yield f"{vector['id']} ({how}), {way.__name__}: {type(error).__name__}: {error}"


# A conversation: calls are answered, in the form of each client.

TALK = """<think>hm</think>Hi
<tool_call>
{"name": "f", "arguments": {"a": 1, "b": ["\u00e4", {"c": null}]}}
</tool_call>
<tool_call>
{"name": "g", "arguments": {}}
</tool_call>"""
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {}}}}
TALKED = {
    "dialect": "talk", "input": TALK, "tools": [{"name": "f", "parameters": SCHEMA}, {"name": "g"}],
    "expect": {"text": "Hi", "trim": True, "reasoning": "hm",
               "calls": [{"name": "f", "arguments": {"a": 1, "b": ["\u00e4", {"c": None}]}}, {"name": "g", "arguments": {}}]},
}


def plain(value):
    """What a client received, as it would send it."""
    return value if isinstance(value, dict) else value.model_dump(exclude_none=True)


def results(face, back):
    """The results of a client's calls: `f is done`, in their order."""
    if face == "messages":
        calls = [plain(block) for block in back[0]["content"]]
        blocks = [{"type": "tool_result", "tool_use_id": call["id"], "content": f"{call['name']} is done"}
                  for call in calls if call["type"] == "tool_use"]
        return [{"role": "user", "content": blocks}]
    if face == "responses":
        return [{"type": "function_call_output", "call_id": item.call_id, "output": f"{item.name} is done"}
                for item in back if item.type == "function_call"]
    calls = plain(back[0])["tool_calls"]
    if face == "ollama":
        names = [call["function"]["name"] for call in calls]
        return [{"role": "tool", "tool_name": name, "content": f"{name} is done"} for name in names]
    return [{"role": "tool", "tool_call_id": call["id"], "content": f"{call['function']['name']} is done"} for call in calls]


def asked_of(api, asked):
    """The request that a server received: roles, the text of the assistant, its calls, and results with the names of their calls.
    """
    roles, text, calls, told, names = [], "", [], [], {}
    for message in asked["messages"]:
        role, content = message["role"], message.get("content")
        if api == "anthropic":
            content = [{"type": "text", "text": content}] if isinstance(content, str) else content
            for block in content:
                if block["type"] == "tool_use":
                    names[block["id"]] = block["name"]
                    calls.append((block["name"], block["input"]))
                elif block["type"] == "tool_result":
                    role = "tool"
                    told.append((names[block["tool_use_id"]], block["content"]))
                elif role == "assistant" and block["type"] == "text":
                    text += block["text"]
            roles.append(role)
            continue
        roles.append(role)
        if role == "assistant":
            text += content or ""
        for call in message.get("tool_calls") or []:
            own = call["function"]
            names[call.get("id")] = own["name"]
            calls.append((own["name"], own["arguments"] if api == "ollama" else json.loads(own["arguments"])))
        if role == "tool":
            told.append((message["tool_name"] if api == "ollama" else names[message["tool_call_id"]], content))
    tools = [tool.get("function", tool)["name"] for tool in asked["tools"]]
    # Consecutive results are one message for Anthropic; a reply is one message everywhere.
    roles = [role for place, role in enumerate(roles) if role != "tool" or roles[place - 1] != role]
    return roles, text.strip(), calls, told, tools


def is_asked(server, model):
    """Checks that the server received the turn after the calls, in its own form."""
    calls = [(call["name"], call["arguments"]) for call in TALKED["expect"]["calls"]]
    expected = ["user", "assistant", "tool"], "Hi", calls, [("f", "f is done"), ("g", "g is done")], ["f", "g"]
    check("asked", asked_of(server.api, server.asked[model]), expected)


def is_prompted(server, model):
    """The same as text, for a server without tool support."""
    asked = server.asked[model]
    text = json.dumps(asked)
    odd = [word for word in ['"tools"', '"tool_calls"', '"tool_use"', '"tool_result"', '"role": "tool"'] if word in text]
    missing = [word for word in ["<tools>", "<tool_call>", "f is done", "g is done"] if word not in text]
    roles = [message["role"] for message in asked["messages"] if message["role"] != "system"]
    check("prompt", (odd, missing, roles), ([], [], ["user", "assistant", "user"]))


def check_talk(clients, server):
    for name, asked in [("talk", is_asked), ("prompt", is_prompted)]:
        for face, own in FACES.items():
            for way in own.ways:
                try:
                    model, tools, reply = f"{name}/lot", tools_for(face, TALKED), Reply()
                    back = way(clients, model, QUESTION, tools, reply)
                    check_reply(face, TALKED, reply)
                    if back is None:
                        continue
                    way(clients, model, [*QUESTION, *back, *results(face, back)], tools, Reply())
                    asked(server, model)
                    yield None
                except Exception as error:
                    yield f"{name}, {way.__name__}: {type(error).__name__}: {error}"


# Servers that misbehave.

# What a client raises if it understands the error.
CLEAN = (openai.OpenAIError, anthropic.AnthropicError, ollama.ResponseError)
# What a client need not notice.
HARMLESS = ["ends its lines with CR LF", "sends no [DONE]", "continues after its end", "sends members without values", "sends comments",
            "does not stream"]
# For streams only.
STREAMS = ["dies after a call", "ends after a call", "sends an error in a call"]
SPEAKS = {"chat": "openai", "responses": None, "messages": "anthropic", "ollama": "ollama"}
LONG = {"chat": "length", "responses": "incomplete", "messages": "max_tokens", "ollama": "length"}


def check_broken(name, face, way, same, clients):
    """Checks one client with one server that misbehaves. An incomplete call is not a call, whatever else comes."""
    broken = {"dialect": "broken", "tools": [{"name": "f", "parameters": SCHEMA}]}
    reply, error = Reply(), None
    try:
        way(clients, f"{name}/lot", QUESTION, tools_for(face, broken), reply)
    except Wrong:
        raise
    except Exception as raised:
        error = raised
    calls = [("f", {"a": 1, "b": ["one", "two"]})]
    # The bytes of a server without a readable response pass unchanged where both sides use one protocol.
    whole = way is FACES[face].ways[0]
    own = same and (name == "has a page" or name == "ends in a call" and whole or name == "does not stream" and not whole)
    if name in HARMLESS and not own:
        check("error", error, None)
        check("reply", (reply.text.strip(), reply.read(), reply.reason), ("Hi", calls, FACES[face].called))
        return
    if name == "writes ends of lines":
        check("error", error, None)
        text, _, _ = LINED.partition("<tool_call>")
        check("reply", (reply.text, reply.read(), reply.reason), (text, [("f", {"a": 1, "b": ["\u2028\u0085\u2029"]})], FACES[face].called))
        return
    if name in ["has no tokens left", "stops in a call"]:
        check("error", error, None)
        reason = FACES[face].plain if name == "stops in a call" else LONG[face]
        check("reply", (reply.text[:2], reply.read(), reply.reason), ("Hi", [], reason))
        return
    if "after a call" in name:
        claim(reply.read() in [[], calls], f"half a call: {reply}")
    else:
        check("calls", reply.read(), [])
    claim(isinstance(error, CLEAN) or own and error, f"no clean error: {type(error).__name__}: {error}, {reply}")
    claim(reply.reason in [None, "failed"], f"unexpected reason: {reply}")
    if name == "is asked too often":
        claim(error.status_code == 429 and "slow down" in str(error), f"not the error that was sent: {error}")
    if name == "has an error page":
        check("status", error.status_code, 502)
    if name == "sends an error in a call":
        claim("too much" in str(error), f"not the error that was sent: {error}")
    if way.__name__.endswith("_stream") and name[:5] in ["dies ", "ends "]:
        check("text so far", reply.text.strip(), "Hi")


def check_all_broken(clients, server):
    for name in misbehaviours(server.api):
        for face, own in FACES.items():
            for way in own.ways:
                if name in STREAMS and way is own.ways[0]:
                    continue
                try:
                    check_broken(name, face, way, SPEAKS[face] == server.api, clients)
                    yield None
                except Exception as error:
                    yield f"{name}, {way.__name__}: {type(error).__name__}: {error}"


def check_server(program, packages, api, vectors, folder):
    """Runs all checks in front of a server of this protocol. Yields a fault or `None` for each response that was read."""
    server = Server(api)
    for vector in [*vectors, TALKED]:
        server.answers[vector["dialect"]] = lambda stream, text=vector["input"]: spoken(api, text, stream)
    server.answers |= misbehaviours(api) | {"prompt": server.answers["talk"]}
    rules = {vector["dialect"]: vector["dialect"] for vector in vectors}
    rules |= dict.fromkeys(misbehaviours(api), "hermes") | dict.fromkeys(["talk", "prompt"], "hermes,reasoning-think")
    rules = "".join(f'[[models]]\nmatch = {json.dumps(name.replace("[", "?") + "/*")}\ndialect = "{ids}"\n' for name, ids in rules.items())
    # The last rule.
    rules += 'mode = "prompt"\n' + recovered_rules()
    with Gateway(program, server, rules, folder) as url:
        clients = Clients(url)
        for place, vector in enumerate(vectors):
            yield from check_vector(clients, vector, CUTS[place % len(CUTS)])
        yield from check_talk(clients, server)
        yield from check_all_broken(clients, server)
        for more in [check_forced, check_images, check_recovered, check_told]:
            yield from more(clients, server)
        yield from check_async(url, vectors, check_reply)
        if packages != "-":
            yield from check_node(packages, url, vectors, check_reply)
    server.shutdown()


def main():
    program, packages, *files = sys.argv[1:]
    vectors = choose(files)
    reads, wrong = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for api in APIS:
            for fault in check_server(program, packages, api, vectors, pathlib.Path(folder)):
                reads += 1
                if fault:
                    wrong += 1
                    print(f"server of {api}: {fault}")
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ["openai", "anthropic", "ollama"])
    calls = sum(bool(vector["expect"]["calls"]) for vector in vectors)
    print(f"{versions}: {calls} dialects of calls and {len(vectors) - calls} of thoughts, {reads} responses read, {wrong} wrong")
    # Checking nothing must not pass.
    sys.exit(1 if wrong or calls < 70 or reads < 1500 else 0)


if __name__ == "__main__":
    main()
