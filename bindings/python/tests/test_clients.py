"""What clients yield: objects, dicts, bytes of bodies, lines, text; synchronous and asynchronous."""

import asyncio
import json
import pickle
import random
from types import SimpleNamespace

import pytest
import toolglot as tg
from turns import joined, turn_of

TEXT = 'Grüße <tool_call name="f"><param name="a">né</param></tool_call> ok'
PIECES = [TEXT[at : at + 5] for at in range(0, len(TEXT), 5)]
ENGINE = tg.Engine()
CALLS = [("f", '{"a":"né"}')]


def objects(value):
    """Turns dicts into objects with attributes, as clients have them."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: objects(inner) for key, inner in value.items()})
    return [objects(inner) for inner in value] if isinstance(value, list) else value


def openai_chunks(reason="stop", **extra):
    head = {"id": "chatcmpl-up", "object": "chat.completion.chunk", "created": 5, "model": "up"}
    deltas = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in PIECES)]
    for delta in deltas:
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}], **extra}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def anthropic_events():
    yield {"type": "message_start", "message": {"id": "msg", "type": "message", "content": [], "stop_reason": None}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}
    for piece in PIECES:
        yield {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": piece}}
        yield {"type": "text", "text": piece, "snapshot": "..."}  # added by the client's helper
    yield {"type": "content_block_stop", "index": 1}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}}
    yield {"type": "message_stop"}


def ollama_chunks():
    for piece in PIECES:
        yield {"model": "up", "message": {"role": "assistant", "content": piece}, "done": False}
    yield {"model": "up", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}


def sse(chunks, named=False):
    out = b""
    for chunk in chunks:
        out += f"event: {chunk['type']}\n".encode() if named else b""
        out += b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"
    return out if named else out + b"data: [DONE]\n\n"


def ndjson(chunks):
    return b"".join(json.dumps(chunk).encode() + b"\n" for chunk in chunks)


BODIES = {"openai": sse(openai_chunks()), "anthropic": sse(anthropic_events(), named=True), "ollama": ndjson(ollama_chunks())}
STREAMS = {
    "text": lambda: PIECES,
    "openai dicts": lambda: openai_chunks(),
    "openai objects": lambda: map(objects, openai_chunks()),
    "anthropic dicts": lambda: anthropic_events(),
    "anthropic objects": lambda: map(objects, anthropic_events()),
    "ollama dicts": lambda: ollama_chunks(),
    "ollama objects": lambda: map(objects, ollama_chunks()),
    **{f"{name} body": lambda body=body: [body] for name, body in BODIES.items()},
    **{f"{name} lines": lambda body=body: body.splitlines() for name, body in BODIES.items()},
    **{f"{name} lines with ends": lambda body=body: body.splitlines(True) for name, body in BODIES.items()},
    **{f"{name} lines without blank ones": lambda body=body: filter(None, body.splitlines()) for name, body in BODIES.items()},
    **{f"{name} bytes": lambda body=body: (bytes([b]) for b in body) for name, body in BODIES.items()},
    "text as bytes": lambda: (bytes([b]) for b in TEXT.encode()),
}


def expected(name):
    return "Grüße  ok", "hm" if name.startswith("anthropic") else "", CALLS


@pytest.mark.parametrize("name", STREAMS)
def test_events(name):
    found = tg.events(STREAMS[name]())
    text, reasoning, calls, issues = turn_of(found)
    assert (text, reasoning, calls) == expected(name) and not issues
    assert (found.reason, found.errors) == ("stop", [])


@pytest.mark.parametrize("name", STREAMS)
def test_aevents(name):
    async def stream():
        for item in STREAMS[name]():
            await asyncio.sleep(0)
            yield item

    async def opened():
        return stream()

    async def main(source):
        found = tg.aevents(source)
        return [event async for event in found], found

    for source in (stream(), opened()):
        events, found = asyncio.run(main(source))
        assert turn_of(events)[:3] == expected(name)
        assert (found.reason, found.errors) == ("stop", [])


def test_aevents_says_how_the_response_ended():
    body = [sse(openai_chunks()).split(b"\n\n")[1] + b"\n\n", b'data: {"error":{"message":"GPU fell over","code":500}}\n\n']

    async def stream():
        for item in body:
            yield item

    async def main():
        found = tg.aevents(stream())
        assert found.reason is None
        return [event async for event in found], found

    events, found = asyncio.run(main())
    other = tg.events(body)
    assert events == list(other) and (found.reason, found.errors) == (other.reason, other.errors)
    assert found.reason == "error" and "GPU fell over" in found.errors[0]


@pytest.mark.parametrize("reads", [tg.aevents, tg.ato_openai])
def test_an_asynchronous_stream_that_is_left_is_closed(reads):
    log = []

    async def pieces():
        try:
            while True:
                yield "a "
        finally:
            log.append("generator")

    class Client:
        """Like client streams: closing their iterator does not close their connection."""

        def __aiter__(self):
            return pieces()

        async def close(self):
            log.append("client")

    async def opened(stream):
        return stream

    async def main(stream, begins=True):
        found = reads(stream)
        if begins:
            async for _ in found:
                break
        await found.aclose()
        assert [item async for item in found] == []
        return log.copy()

    assert asyncio.run(main(pieces())) == ["generator"]
    log.clear()
    # Whatever else the iteration opened is closed with it.
    for stream in (Client(), opened(Client())):
        closed = asyncio.run(main(stream))
        assert closed[:2] == ["generator", "client"] and set(closed) == {"generator", "client"}
        log.clear()
    if reads is tg.aevents:
        assert asyncio.run(main(Client(), begins=False)) == ["client"]


@pytest.mark.parametrize("name", BODIES)
def test_bodies_in_any_chunking(name):
    body = BODIES[name]
    whole = joined(tg.events([body]))
    chance = random.Random(name)
    for _ in range(100):
        places = sorted(chance.randrange(len(body) + 1) for _ in range(chance.randrange(1, 6)))
        edges = [0, *places, len(body)]
        assert joined(tg.events(body[a:b] for a, b in zip(edges, edges[1:]))) == whole, places


def test_every_two_way_split_of_a_short_body():
    body = sse([{"choices": [{"index": 0, "delta": {"content": "né"}, "finish_reason": "stop"}]}])
    for cut in range(len(body) + 1):
        found = tg.events([body[:cut], body[cut:]])
        assert turn_of(found)[0] == "né" and (found.reason, found.errors) == ("stop", []), cut


def test_str_lines_need_a_source():
    found = tg.events(BODIES["openai"].decode().splitlines(), source="openai")
    assert turn_of(found)[2] == CALLS
    found = tg.events([BODIES["openai"].decode()], source="text")
    assert "data:" in turn_of(found)[0]


def test_one_response():
    message = {"content": TEXT, "tool_calls": None}
    whole = {"id": "1", "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    anthropic = {"id": "m", "type": "message", "content": [{"type": "text", "text": TEXT}], "stop_reason": "end_turn"}
    ollama = {"model": "m", "message": {"content": TEXT}, "done": True, "done_reason": "stop"}
    for response in (whole, anthropic, ollama):
        for one in (response, objects(response), json.dumps(response).encode()):
            assert turn_of(tg.events(one))[2] == CALLS
    assert turn_of(tg.events(TEXT))[2] == CALLS

    class Model(SimpleNamespace):
        """Like client models, which can be iterated: over their members."""

        def __iter__(self):
            return iter(vars(self).items())

    for response in (whole, anthropic, ollama):
        assert turn_of(tg.events(Model(**vars(objects(response)))))[2] == CALLS


def test_a_stream_with_members_of_its_own():
    class Stream:
        """Like client streams, which have a reference to their response."""

        response = message = object()

        def __init__(self):
            self._chunks = openai_chunks()

        def __iter__(self):
            return self

        def __next__(self):
            return objects(next(self._chunks))

    assert turn_of(tg.events(Stream()))[2] == CALLS


def test_tool_calls_of_an_api():
    def chunk(delta, reason=None):
        return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    chunks = [
        chunk({"content": "hi"}),
        chunk({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "g", "arguments": '{"x"'}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}),
        chunk({}, "tool_calls"),
    ]
    for stream in (chunks, map(objects, chunks)):
        found = list(tg.events(stream))
        assert turn_of(found)[2] == [("g", '{"x":1}')]
        assert any(isinstance(event, tg.CallOpen) and event.native and event.meta == {"id": "c1"} for event in found)
    inputs = {"type": "tool_use", "id": "t", "name": "g", "input": {}}
    events = [
        {"type": "content_block_start", "index": 0, "content_block": inputs},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"x":1}'}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    ]
    found = tg.events(map(objects, events))
    assert turn_of(found)[2] == [("g", '{"x":1}')] and found.reason == "tool_calls"
    ollama = {"message": {"content": "", "tool_calls": [{"function": {"name": "g", "arguments": {"x": 1}}}]}, "done": True}
    assert turn_of(tg.events([ollama]))[2] == [("g", '{"x":1}')]


def test_truncated_responses():
    found = tg.events([BODIES["openai"][:200]])
    list(found)
    assert found.reason == "error" and found.errors[-1] == "the response broke off before its end"
    found = tg.events([{"error": {"message": "overloaded", "type": "x"}}])
    list(found)
    assert found.reason == "error" and "overloaded" in found.errors[0]


def test_errors_of_the_stream_propagate():
    def breaks():
        yield "Hi"
        raise ConnectionError("gone")

    seen = []
    with pytest.raises(ConnectionError):
        for event in tg.events(breaks()):
            seen.append(event)
    assert seen == [tg.Text("Hi", 0, 2)]


def test_bad_chunks():
    with pytest.raises(TypeError, match="a chunk is not text, bytes, or a chunk of an OpenAI.*: int"):
        list(tg.events([3]))
    with pytest.raises(TypeError, match="a chunk is not anthropic: dict"):
        list(tg.events(openai_chunks(), source="anthropic"))
    with pytest.raises(ValueError, match="source='x': it is one of 'auto', 'text'"):
        tg.events([], source="x")

    async def stream():
        yield "x"

    with pytest.raises(TypeError, match="an asynchronous stream is for aevents"):
        list(tg.events(stream()))
    assert list(tg.events([])) == [] and list(tg.events([b""])) == []


def message(chunks):
    """The message that a client assembles from chunks."""
    content, calls, reason = "", {}, None
    for chunk in chunks:
        for choice in chunk["choices"]:
            content += choice["delta"].get("content") or ""
            for piece in choice["delta"].get("tool_calls", ()):
                call = calls.setdefault(piece["index"], {"arguments": ""})
                call.update({key: piece[key] for key in ("id",) if key in piece})
                call.update({key: value for key, value in piece["function"].items() if key == "name"})
                call["arguments"] += piece["function"].get("arguments", "")
            reason = choice["finish_reason"] or reason
    return content, [(call["name"], call["arguments"]) for call in calls.values()], reason


@pytest.mark.parametrize("name", STREAMS)
def test_to_openai(name):
    chunks = list(tg.to_openai(STREAMS[name](), model="mine"))
    assert message(chunks) == ("Grüße  ok", CALLS, "tool_calls")
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert {chunk["model"] for chunk in chunks} == {"mine"}
    assert len({chunk["id"] for chunk in chunks}) == 1

    async def stream():
        for item in STREAMS[name]():
            yield item

    async def main():
        return [chunk async for chunk in tg.ato_openai(stream(), model="mine")]

    assert message(asyncio.run(main())) == message(chunks)


def test_to_openai_keeps_the_head_and_usage():
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    upstream = [*openai_chunks(), {"id": "chatcmpl-up", "model": "up", "created": 5, "choices": [], "usage": usage}]
    chunks = list(tg.to_openai(upstream))
    assert {(chunk["id"], chunk["model"], chunk["created"]) for chunk in chunks} == {("chatcmpl-up", "up", 5)}
    assert chunks[-1]["choices"] == [] and chunks[-1]["usage"] == usage
    assert chunks[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}


def test_to_openai_options():
    first = list(tg.to_openai([TEXT], id="x", id_prefix="t_", id_seed=1, calls="close"))
    again = list(tg.to_openai([TEXT], id="x", id_prefix="t_", id_seed=1, calls="close"))
    assert message(first) == message(again) == ("Grüße  ok", CALLS, "tool_calls")
    identity = [piece["id"] for c in first for piece in c["choices"][0]["delta"].get("tool_calls", ()) if "id" in piece]
    assert identity == ["t_000000000000000100000000"]
    assert message(tg.to_openai([TEXT], forced=True))[2] == "stop"
    with pytest.raises(ValueError, match="calls='x'"):
        list(tg.to_openai([TEXT], calls="x"))
    cut = list(tg.to_openai(openai_chunks(reason="length")))
    assert message(cut)[2] == "length"


def test_rewriter_and_reader():
    rewriter = ENGINE.rewriter("openai", model="m")
    lines = rewriter.feed(BODIES["openai"]) + rewriter.finish()
    assert message(map(json.loads, lines))[1] == CALLS
    assert (rewriter.reason, rewriter.errors, rewriter.void) == ("stop", [], [])
    assert rewriter.finish() == []
    with pytest.raises(tg.StateError, match="the rewriter is finished"):
        rewriter.feed("x")
    reader = ENGINE.reader("openai", choice=1)
    assert reader.feed(BODIES["openai"]) == [] and reader.reason is None
    reader.finish()
    with pytest.raises(tg.StateError, match="the reader is finished"):
        reader.feed("x")
    with pytest.raises(ValueError, match="source='x'"):
        ENGINE.reader("x")


def test_retracted_calls_are_never_complete():
    cut = '<tool_call name="f"><param name="a">1</param>'
    rewriter = ENGINE.rewriter()
    chunks = [json.loads(line) for line in rewriter.feed(cut) + rewriter.finish()]
    _, calls, reason = message(chunks)
    assert reason == "stop" and rewriter.void == [0]
    for _, arguments in calls:
        with pytest.raises(ValueError):
            json.loads(arguments)


def upstream(choices, seed):
    """Chunks of a response with several choices and unknown members; all choices come from the seed."""
    chance = random.Random(seed)
    head = {"id": "chatcmpl-up", "object": "chat.completion.chunk", "created": 5, "model": "up", "system_fingerprint": "fp"}
    texts = [TEXT, "nothing to do, x < y", '<tool_call name="g"></tool_call>']
    queues = []
    for index in range(choices):
        text = texts[(index + seed) % len(texts)]
        queue = [{"index": index, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]
        while text:
            size = chance.randrange(1, 9)
            piece, text = text[:size], text[size:]
            logprobs = {"content": [{"token": piece, "logprob": -0.5}]}
            queue.append({"index": index, "delta": {"content": piece}, "logprobs": logprobs, "finish_reason": None})
        queue.append({"index": index, "delta": {}, "finish_reason": "stop", "stop_reason": 7})
        queues.append(queue)
    while any(queues):
        queue = chance.choice([queue for queue in queues if queue])
        yield {**head, "x_unknown": {"a": 1} if chance.random() < 0.2 else None, "choices": [queue.pop(0)]}
    yield {**head, "choices": [], "usage": {"total_tokens": 3, "cost": 0.5}}


def of_choice(chunks, index):
    return [
        {**chunk, "choices": [choice for choice in chunk["choices"] if choice["index"] == index]} for chunk in chunks
    ]


@pytest.mark.parametrize("choices", [1, 2, 3, 5])
@pytest.mark.parametrize("form", ["dicts", "objects", "body", "lines", "bytes"])
def test_to_openai_changes_nothing_else(form, choices):
    chunks = list(upstream(choices, seed=choices))
    body = sse(chunks)
    forms = {
        "dicts": chunks,
        "objects": map(objects, chunks),
        "body": [body],
        "lines": body.splitlines(),
        "bytes": (bytes([byte]) for byte in body),
    }
    out = list(tg.to_openai(forms[form], id_seed=3))
    assert out == list(tg.to_openai(chunks, id_seed=3)), "the same in every form"
    for chunk in out:
        assert (chunk["id"], chunk["created"], chunk["model"], chunk["system_fingerprint"]) == ("chatcmpl-up", 5, "up", "fp")
    assert [chunk["usage"] for chunk in out if "usage" in chunk] == [{"total_tokens": 3, "cost": 0.5}]
    unknown = lambda stream: [chunk["x_unknown"] for chunk in stream if chunk.get("x_unknown")]
    assert unknown(out) == unknown(chunks)
    ids = []
    for index in range(choices):
        before, after = of_choice(chunks, index), of_choice(out, index)
        text = message(before)[0]
        turn = ENGINE.parse(text)
        content, calls, reason = message(after)
        assert (content, calls) == (turn.text, [(call.name, call.arguments_json) for call in turn.calls])
        assert reason == ("tool_calls" if turn.calls else "stop")
        picked = lambda stream, key: [choice[key] for chunk in stream for choice in chunk["choices"] if choice.get(key)]
        assert picked(after, "logprobs") == picked(before, "logprobs")
        assert picked(after, "stop_reason") == [7]
        pieces = [piece for delta in picked(after, "delta") for piece in delta.get("tool_calls", ())]
        ids += [piece["id"] for piece in pieces if "id" in piece]
    assert len(set(ids)) == len(ids)


def test_errors_of_a_server_pass_unchanged():
    for error in (
        {"error": {"message": "overloaded", "type": "server_error", "code": 503}, "request_id": "r"},
        {"detail": "Not Found"},
        {"object": "error", "message": "too long", "type": "BadRequestError", "code": 400},
    ):
        body = json.dumps(error).encode()
        for form in ([body], [b"data: " + body + b"\n\n"], [body[:9], body[9:]]):
            assert list(tg.to_openai(form, source="openai")) == [error]
        assert tg.to_completion(body, source="openai") == error
    assert list(tg.to_openai([{"error": {"message": "gone"}}])) == [{"error": {"message": "gone"}}]
    page = b"<html>502 Bad Gateway</html>"
    (chunk,) = tg.to_openai([page], source="openai")
    assert chunk["error"]["message"] == page.decode()


def identities(chunks):
    for chunk in chunks:
        for choice in chunk["choices"]:
            holder = choice["delta"] if "delta" in choice else choice["message"]
            yield from (piece["id"] for piece in holder.get("tool_calls") or () if piece.get("id"))


def test_ids_differ_from_response_to_response():
    text = '<tool_call name="f"></tool_call><tool_call name="g"></tool_call>'

    def rewritten(**options):
        rewriter = ENGINE.rewriter(**options)
        return list(identities(map(json.loads, rewriter.feed(text) + rewriter.finish())))

    makers = [
        rewritten,
        lambda **options: list(identities(tg.to_openai([text], **options))),
        lambda **options: list(identities([tg.to_completion(text, **options)])),
        lambda **options: list(identities([json.loads(ENGINE.completion(text, **options))])),
    ]
    seen = [identity for make in makers for _ in range(20) for identity in make()]
    assert len(seen) == 160 and len(set(seen)) == len(seen)
    for make in makers:
        assert make(id_seed=9) == make(id_seed=9) == ["call_000000000000000900000000", "call_000000000000000900000001"]


def test_to_completion():
    choice = lambda index, text: {
        "index": index,
        "message": {"role": "assistant", "content": text, "refusal": None, "annotations": [1]},
        "logprobs": {"content": []},
        "finish_reason": "stop",
    }
    whole = {"id": "c", "object": "chat.completion", "created": 5, "model": "up", "usage": {"total_tokens": 1}, "x": "y"}
    whole["choices"] = [choice(0, TEXT), choice(1, "none"), choice(2, TEXT)]
    for form in (whole, objects(whole), json.dumps(whole).encode()):
        made = tg.to_completion(form)
        assert {key: made[key] for key in whole if key != "choices"} == {key: whole[key] for key in whole if key != "choices"}
        assert [one["finish_reason"] for one in made["choices"]] == ["tool_calls", "stop", "tool_calls"]
        assert [one["message"]["content"] for one in made["choices"]] == ["Grüße  ok", "none", "Grüße  ok"]
        assert all(one["message"]["annotations"] == [1] for one in made["choices"])
        assert made["choices"][2]["message"]["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a":"né"}'}
        assert len(set(identities([made]))) == 2
    anthropic = {"id": "m", "type": "message", "model": "up", "content": [{"type": "text", "text": TEXT}], "stop_reason": "end_turn"}
    ollama = {"model": "up", "message": {"content": TEXT}, "done": True, "done_reason": "stop"}
    for response in (anthropic, ollama, TEXT, ENGINE.parse(TEXT)):
        made = tg.to_completion(response, id_seed=1)
        message_ = made["choices"][0]["message"]
        assert (message_["content"], len(message_["tool_calls"]), made["object"]) == ("Grüße  ok", 1, "chat.completion")
    cut = '<tool_call name="f"><param name="a">1</param><param name="a">2</param></tool_call>'
    for form in (cut, ENGINE.parse(cut)):
        made = tg.to_completion(form)
        assert made["toolglot"]["withheld"][0]["name"] == "f" and made["choices"][0]["finish_reason"] == "stop"
        assert tg.to_completion(form, recovered=True)["choices"][0]["finish_reason"] == "tool_calls"
    with pytest.raises(TypeError, match="a stream is for to_openai"):
        tg.to_completion(iter([TEXT]))


@pytest.mark.parametrize("name", [None, ""])
def test_reasoning_without_a_member_is_left_out(name):
    content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "so"}]
    anthropic = {"id": "m", "type": "message", "model": "up", "content": content, "stop_reason": "end_turn"}
    for response in ("<think>hm</think>so", anthropic, json.dumps(anthropic).encode()):
        made = tg.to_completion(response, reasoning=name, id_seed=0)
        assert made["choices"][0]["message"] == {"role": "assistant", "content": "so"}
        assert made["id"] == ("m" if response is anthropic else tg.to_completion(response, id_seed=0)["id"])
        for chunk in tg.to_openai([response], reasoning=name):
            assert set(chunk["choices"][0]["delta"]) <= {"role", "content"}


def test_calls_as_plain_objects():
    turn = ENGINE.parse(TEXT + "<tool_call name=")
    call = turn.calls[0]
    assert json.loads(json.dumps(call.to_dict()))["arguments"] == {"a": "né"}
    assert json.loads(json.dumps(turn.to_dict()))["calls"][0]["name"] == "f"
    assert {"kind", "message", "observation", "start"} <= set(json.loads(json.dumps(turn.to_dict()))["errors"][0])
    sent = call.to_openai("x")
    assert sent == {"id": "x", "type": "function", "function": {"name": "f", "arguments": '{"a":"né"}'}}
    assert call.to_openai()["id"] != call.to_openai()["id"]
    closed = [event for event in ENGINE.stream().feed(TEXT) if isinstance(event, tg.CallClose)]
    assert json.loads(json.dumps(closed[0].to_dict()))["arguments"] == {"a": "né"}


def test_invalid_tools_are_reported():
    good = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    assert tg.Engine(tools=[good]).tool_issues == []
    for odd in (3, {"type": "function"}, {"name": 7}, {"function": "x"}, good):
        engine = tg.Engine(tools=[good, odd])
        assert engine.tools == ["f"] and len(engine.tool_issues) == 1 and "[1]" in engine.tool_issues[0]
        assert ENGINE.stream(tools=[good, odd]).tool_issues == engine.tool_issues
        turn = ENGINE.parse("a", tools=[good, odd])
        assert turn.tool_issues == engine.parse("a").tool_issues == engine.tool_issues
        assert turn.to_dict()["tool_issues"] == engine.tool_issues and pickle.loads(pickle.dumps(turn)) == turn
    assert ENGINE.stream().tool_issues == [] == ENGINE.parse("a").tool_issues and "tool_issues" not in ENGINE.parse("a").to_dict()


def test_an_unreadable_list_of_tools_is_refused():
    for tools in ([3], [{"nam": "f"}, {"name": ""}], '[{"function": {}}]'):
        for step in (lambda: tg.Engine(tools=tools), lambda: ENGINE.stream(tools=tools)):
            with pytest.raises(tg.ToolsError, match=r"tools\[0\]"):
                step()
    assert tg.Engine(tools=[]).tools == []


FAILURES = [
    ({"error": {"message": "m", "type": "t"}}, "m"),
    ({"error": "x"}, "x"),
    ({"object": "error", "message": "bad", "type": "B", "code": 400}, "bad"),
    ({"detail": "没有"}, "没有"),
    ({"detail": [{"loc": ["body"], "msg": "q"}]}, "body: q"),
    ({"type": "error", "error": {"type": "overloaded_error", "message": "o"}}, "o"),
    ({"message": "bad", "code": 401}, "bad"),
]


@pytest.mark.parametrize("source", ["auto", "openai", "anthropic", "ollama"])
@pytest.mark.parametrize(("failure", "message"), FAILURES)
def test_an_error_is_not_an_empty_reply(failure, message, source):
    wanted = None if source in ("anthropic", "ollama") or failure.get("type") == "error" else failure
    made = [tg.to_completion(failure, source=source), list(tg.to_openai([failure], source=source))[-1]]
    if source != "auto":
        body = json.dumps(failure).encode()
        made += [tg.to_completion(body, source=source), list(tg.to_openai([body], source=source))[-1]]
    for one in made:
        if source == "openai" or wanted is not None:
            assert one == failure
        else:
            assert one["error"]["message"] == message
    found = tg.events([failure], source=source)
    assert list(found) == []
    assert found.reason == "error" and message in found.errors[0]


def test_an_error_after_half_a_response():
    half = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "half"}}
    error = {"error": {"message": "m", "type": "t"}}
    assert list(tg.to_openai([half, error]))[-1]["error"]["message"] == "m"
    for page in (b"<html>502</html>", b"upstream timed out"):
        for source in ("openai", "anthropic", "ollama"):
            assert tg.to_completion(page, source=source)["error"]["message"] == page.decode()
