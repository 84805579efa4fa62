"""What a request asks of the gateway beside text, through the official clients: forced calls, images, recovered calls."""

import json

import anthropic
import openai
from gateway_readers import FACES, Reply, check, chat_tool, claim, messages_tool, responses_tool
from gateway_servers import spoken

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
# The call is not closed, so it may be truncated: a recovered one.
CUT = "So: <tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n\n</tool_call>"
WHOLE = CUT.replace("\n\n<", "\n</function>\n<").removeprefix("So: ")
QUESTION = [{"role": "user", "content": "go"}]


def forced(clients, face, model, named):
    """Sends a request that requires a call: of any tool, or of `f`."""
    if face == "chat":
        choice = {"type": "function", "function": {"name": "f"}} if named else "required"
        return clients.openai.chat.completions.create(
            model=model, messages=QUESTION, tools=[chat_tool("f", "", SCHEMA)], tool_choice=choice, parallel_tool_calls=False)
    if face == "responses":
        choice = {"type": "function", "name": "f"} if named else "required"
        return clients.openai.responses.create(
            model=model, input=QUESTION, tools=[responses_tool("f", "", SCHEMA)], tool_choice=choice, parallel_tool_calls=False)
    choice = {"type": "tool", "name": "f"} if named else {"type": "any"}
    return clients.anthropic.messages.create(
        model=model, messages=QUESTION, max_tokens=9, tools=[messages_tool("f", "", SCHEMA)],
        tool_choice=choice | {"disable_parallel_tool_use": True})


def check_forced(clients, server):
    """A required call reaches a server that can be required to call, and is refused elsewhere: Ollama's protocol has no such setting."""
    for face in ["chat", "responses", "messages"]:
        for named in [False, True]:
            try:
                model = f"talk/{face}-{named}/lot"
                server.answers[model.rsplit("/", 1)[0]] = lambda stream: spoken(server.api, CALL, stream)
                if server.api == "ollama":
                    try:
                        forced(clients, face, model, named)
                        claim(False, "it was not refused")
                    except (openai.BadRequestError, anthropic.BadRequestError) as error:
                        claim("tool_choice" in str(error), f"another reason: {error}")
                    yield None
                    continue
                got = forced(clients, face, model, named)
                asked = server.asked[model]
                if server.api == "openai":
                    expected = {"type": "function", "function": {"name": "f"}} if named else "required"
                    check("choice", (asked["tool_choice"], asked["parallel_tool_calls"]), (expected, False))
                else:
                    expected = {"type": "tool", "name": "f"} if named else {"type": "any"}
                    check("choice", asked["tool_choice"], expected | {"disable_parallel_tool_use": True})
                claim('"a"' in got.model_dump_json().replace("\\", ""), f"no call: {got}")
                yield None
            except Exception as error:
                yield f"forced, {face}, named {named}: {type(error).__name__}: {error}"


# A JPEG's first bytes.
DATA = "/9j/4AAQSkZJRg=="


def shown(clients, face, model):
    """Sends an image in the client's own form."""
    url = f"data:image/jpeg;base64,{DATA}"
    if face == "chat":
        parts = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": url}}]
        clients.openai.chat.completions.create(model=model, messages=[{"role": "user", "content": parts}])
    elif face == "responses":
        parts = [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": url, "detail": "auto"}]
        clients.openai.responses.create(model=model, input=[{"role": "user", "content": parts}])
    elif face == "messages":
        source = {"type": "base64", "media_type": "image/jpeg", "data": DATA}
        parts = [{"type": "text", "text": "see"}, {"type": "image", "source": source}]
        clients.anthropic.messages.create(model=model, messages=[{"role": "user", "content": parts}], max_tokens=9)
    else:
        clients.ollama.chat(model=model, messages=[{"role": "user", "content": "see", "images": [DATA]}])


def check_images(clients, server):
    for face in FACES:
        try:
            model = f"talk/{face}-image/lot"
            server.answers[model.rsplit("/", 1)[0]] = lambda stream: spoken(server.api, "Hi", stream)
            shown(clients, face, model)
            message = server.asked[model]["messages"][0]
            if server.api == "ollama":
                seen = message["content"], message["images"][0]
            else:
                text, image = message["content"]
                seen = text["text"], image["image_url"]["url"].partition(",")[2] if server.api == "openai" else image["source"]["data"]
            check("image", seen, ("see", DATA))
            yield None
        except Exception as error:
            yield f"image, {face}: {type(error).__name__}: {error}"


RECOVERED = ["withhold", "deliver", "ask"]


def recovered_rules():
    """One rule for each way to treat recovered calls, by the name of the model."""
    return "".join(f'[[models]]\nmatch = "{rule}*"\ndialect = "qwen3-coder"\nrecovered = "{rule}"\n' for rule in RECOVERED)


def check_recovered(clients, server):
    for rule in RECOVERED:
        for face, own in FACES.items():
            for way in own.ways:
                try:
                    name = f"{rule}-{way.__name__}"
                    # The second reply of a model that is asked again is complete.
                    replies = iter([CUT, WHOLE])
                    server.answers[name] = lambda stream, replies=replies: spoken(server.api, next(replies), stream)
                    reply = Reply()
                    way(clients, f"{name}/lot", QUESTION, [own.tool("f", "", SCHEMA)], reply)
                    calls = [] if rule == "withhold" else [("f", {"a": 1})]
                    check("calls", reply.read(), calls)
                    # A second reply replaces the first one, except for what the client has seen of it.
                    check("text", reply.text.strip(), "" if rule == "ask" and way is own.ways[0] else "So:")
                    check("reason", reply.reason, own.called if calls else own.plain)
                    messages = server.asked[f"{name}/lot"]["messages"]
                    check("questions", len(messages), 3 if rule == "ask" else 1)
                    claim(rule != "ask" or CUT in json.dumps(messages[1], ensure_ascii=False).replace('\\"', '"').replace("\\n", "\n"), f"not the reply: {messages}")
                    yield None
                except Exception as error:
                    yield f"{rule}, {way.__name__}: {type(error).__name__}: {error}"


def check_told(clients, server):
    """Whoever looks sees what was withheld, and which settings were ignored."""
    server.answers["withhold-told"] = lambda stream: spoken(server.api, CUT, stream)
    try:
        raw = clients.openai.chat.completions.with_raw_response.create(
            model="withhold-told/lot", messages=QUESTION, tools=[chat_tool("f", "", SCHEMA)], store=True)
        claim(raw.headers.get("toolglot-issues"), "no header")
        claim("toolglot" in raw.parse().to_dict(), "no member")
        check("ignored", raw.headers.get("toolglot-ignored"), None if server.api == "openai" else "store")
        yield None
    except Exception as error:
        yield f"told: {type(error).__name__}: {error}"

