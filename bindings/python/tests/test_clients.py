"""What clients yield: objects, dicts, bytes of bodies, lines, text; synchronous and not."""

import asyncio
import json
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
    """Dicts as objects with attributes, as clients have them."""
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
        yield {"type": "text", "text": piece, "snapshot": "..."}  # what the helper of the client adds
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
        return [event async for event in tg.aevents(source)]

    for source in (stream(), opened()):
        assert turn_of(asyncio.run(main(source)))[:3] == expected(name)


@pytest.mark.parametrize("name", BODIES)
def test_bodies_in_any_cut(name):
    body = BODIES[name]
    whole = joined(tg.events([body]))
    chance = random.Random(name)
    for _ in range(100):
        places = sorted(chance.randrange(len(body) + 1) for _ in range(chance.randrange(1, 6)))
        edges = [0, *places, len(body)]
        assert joined(tg.events(body[a:b] for a, b in zip(edges, edges[1:]))) == whole, places


def test_every_two_way_cut_of_a_short_body():
    body = sse([{"choices": [{"index": 0, "delta": {"content": "né"}, "finish_reason": "stop"}]}])
    for cut in range(len(body) + 1):
        found = tg.events([body[:cut], body[cut:]])
        assert turn_of(found)[0] == "né" and (found.reason, found.errors) == ("stop", []), cut


def test_str_lines_when_told():
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
        """Models of clients can be iterated: over their members."""

        def __iter__(self):
            return iter(vars(self).items())

    for response in (whole, anthropic, ollama):
        assert turn_of(tg.events(Model(**vars(objects(response)))))[2] == CALLS


def test_a_stream_with_members_of_its_own():
    class Stream:
        """Clients' streams know the response that they come from."""

        response = message = object()

        def __init__(self):
            self._chunks = openai_chunks()

        def __iter__(self):
            return self

        def __next__(self):
            return objects(next(self._chunks))

    assert turn_of(tg.events(Stream()))[2] == CALLS


def test_native_calls_of_an_api():
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


def test_what_breaks_off():
    found = tg.events([BODIES["openai"][:200]])
    list(found)
    assert found.reason == "error" and found.errors[-1] == "the response broke off before its end"
    found = tg.events([{"error": {"message": "overloaded", "type": "x"}}])
    list(found)
    assert found.reason == "error" and "overloaded" in found.errors[0]


def test_errors_of_the_stream_pass():
    def breaks():
        yield "Hi"
        raise ConnectionError("gone")

    seen = []
    with pytest.raises(ConnectionError):
        for event in tg.events(breaks()):
            seen.append(event)
    assert seen == [tg.Text("Hi", 0, 2)]


def test_what_is_no_chunk():
    with pytest.raises(TypeError, match="a chunk is no text, bytes, or a chunk of an OpenAI.*: int"):
        list(tg.events([3]))
    with pytest.raises(TypeError, match="a chunk is no anthropic: dict"):
        list(tg.events(openai_chunks(), source="anthropic"))
    with pytest.raises(ValueError, match="source='x': it is one of 'auto', 'text'"):
        tg.events([], source="x")

    async def stream():
        yield "x"

    with pytest.raises(TypeError, match="an asynchronous stream is for aevents"):
        list(tg.events(stream()))
    assert list(tg.events([])) == [] and list(tg.events([b""])) == []


def message(chunks):
    """What a client makes of chunks."""
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


def test_void_calls_are_never_whole():
    cut = '<tool_call name="f"><param name="a">1</param>'
    rewriter = ENGINE.rewriter()
    chunks = [json.loads(line) for line in rewriter.feed(cut) + rewriter.finish()]
    _, calls, reason = message(chunks)
    assert reason == "stop" and rewriter.void == [0]
    for _, arguments in calls:
        with pytest.raises(ValueError):
            json.loads(arguments)
