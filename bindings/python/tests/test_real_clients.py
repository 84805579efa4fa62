"""The official clients read a local server that replays outputs of the vectors; the package reads the clients' streams."""

import asyncio
import json

import pytest
import replay
import toolglot as tg
from conftest import ROOT
from test_clients import message
from turns import joined, turn_of

openai = pytest.importorskip("openai", reason="the openai client is not installed, so nothing was read with it")
anthropic = pytest.importorskip("anthropic", reason="the anthropic client is not installed, so nothing was read with it")

ENGINE = tg.Engine()
MESSAGES = [{"role": "user", "content": "go"}]


def outputs():
    """Hand-written outputs, and one output with calls from every third file whose dialect is in the default set."""
    own = set(ENGINE.dialects)
    yield 'Grüße 🌊 <tool_call name="f"><param name="a">né 🌊\n</param></tool_call> tail <tool_'
    yield '<think>hm</think>\n<tool_call name="f"><param name="a">1</param></tool_call>' * 2
    yield "only text"
    for file in sorted((ROOT / "tests" / "vectors").glob("*.jsonl"))[::3]:
        for line in file.read_text(encoding="utf-8").split("\n"):
            vector = json.loads(line) if line.strip() else {}
            plain = "input" in vector and not vector.keys() & {"options", "native_tool_calls", "tools", "alone_only"}
            if plain and vector["dialect"] in own and vector["expect"].get("calls") and len(vector["input"]) < 600:
                yield vector["input"]
                break


OUTPUTS = list(outputs())


@pytest.fixture(scope="module")
def server():
    with replay.Server(OUTPUTS) as server:
        yield server


def log(events):
    """Everything except where pieces were split."""
    return joined(list(events))


WANTED = [turn_of(list(tg.events([text], engine=ENGINE)))[:3] for text in OUTPUTS]
LOGS = [log(tg.events([text], engine=ENGINE)) for text in OUTPUTS]


def stands(text):
    """The calls that a gateway delivers: those that are not recovered."""
    return [(call.name, call.arguments_json) for call in ENGINE.parse(text).calls if not call.recovered]


def test_there_are_outputs():
    assert len(OUTPUTS) > 10 and sum(len(calls) for _, _, calls in WANTED) > 12


@pytest.mark.parametrize("how", replay.CUTS)
def test_openai(server, how):
    client = openai.OpenAI(base_url=server.url(how) + "/v1", api_key="none", max_retries=0, timeout=60)
    for number, text in enumerate(OUTPUTS):
        found = tg.events(client.chat.completions.create(model=str(number), messages=MESSAGES, stream=True), engine=ENGINE)
        assert log(found) == LOGS[number], text
        assert (found.reason, found.errors) == ("stop", [])


@pytest.mark.parametrize("how", replay.CUTS)
def test_openai_bytes_and_gateway(server, how):
    client = openai.OpenAI(base_url=server.url(how) + "/v1", api_key="none", max_retries=0, timeout=60)
    for number, text in enumerate(OUTPUTS):
        asked = {"model": str(number), "messages": MESSAGES, "stream": True}
        with client.chat.completions.with_streaming_response.create(**asked) as response:
            assert log(tg.events(response.iter_bytes(), engine=ENGINE)) == LOGS[number]
        chunks = list(tg.to_openai(client.chat.completions.create(**asked), engine=ENGINE))
        calls = stands(text)
        content, sent, reason = message(chunks)
        assert content == WANTED[number][0]
        assert [call for call in sent if is_json(call[1])] == calls
        if len(sent) == len(calls):
            assert reason == ("tool_calls" if calls else "stop")
        # What the gateway sends must be valid for the client's own types.
        assert {openai.types.chat.ChatCompletionChunk.model_validate(chunk).model for chunk in chunks} == {"replayed"}


def is_json(text):
    try:
        json.loads(text)
        return True
    except ValueError:
        return False


@pytest.mark.parametrize("how", replay.CUTS)
def test_anthropic(server, how):
    client = anthropic.Anthropic(base_url=server.url(how), api_key="none", max_retries=0, timeout=60)
    for number, text in enumerate(OUTPUTS):
        asked = {"model": str(number), "messages": MESSAGES, "max_tokens": 9}
        found = tg.events(client.messages.create(**asked, stream=True), engine=ENGINE)
        assert log(found) == LOGS[number], text
        assert (found.reason, found.errors) == ("stop", [])
        with client.messages.stream(**asked) as stream:
            assert log(tg.events(stream, engine=ENGINE)) == LOGS[number]
        chunks = list(tg.to_openai(client.messages.create(**asked, stream=True), engine=ENGINE))
        assert [call for call in message(chunks)[1] if is_json(call[1])] == stands(text)


@pytest.mark.parametrize("how", replay.CUTS)
def test_asynchronous(server, how):
    async def main():
        first = openai.AsyncOpenAI(base_url=server.url(how) + "/v1", api_key="none", max_retries=0, timeout=60)
        other = anthropic.AsyncAnthropic(base_url=server.url(how), api_key="none", max_retries=0, timeout=60)
        for number in range(0, len(OUTPUTS), 3):
            asked = {"model": str(number), "messages": MESSAGES, "stream": True}
            # Both the coroutine and the stream that it returns are accepted.
            found = [event async for event in tg.aevents(first.chat.completions.create(**asked), engine=ENGINE)]
            assert log(found) == LOGS[number]
            stream = await other.messages.create(**asked, max_tokens=9)
            assert log([event async for event in tg.aevents(stream, engine=ENGINE)]) == LOGS[number]
            chunks = [chunk async for chunk in tg.ato_openai(await first.chat.completions.create(**asked), engine=ENGINE)]
            assert message(chunks)[0] == WANTED[number][0]

    asyncio.run(main())


CALLS = ['Now. <tool_call>{"name": "double", "arguments": {"n": 4}}</tool_call>', "It is 8."]


def double(n: int) -> int:
    "Doubles a number."
    return 2 * n


def asked(messages):
    """A request; the server has one output for each round."""
    return {"model": str(sum(one["role"] == "assistant" for one in messages)), "messages": messages, "stream": True}


def agent(model):
    return tg.Agent(model, tools=[double], dialect="hermes", policy="allow")


def done(run):
    return run.text == "It is 8." and [one.result for one in run.calls] == [8]


@pytest.mark.parametrize("how", replay.CUTS)
def test_agents_ask_through_the_clients(how):
    async def main(address):
        async with openai.AsyncOpenAI(base_url=address, api_key="none", max_retries=0, timeout=60) as client:

            async def coroutine(messages):
                return await client.chat.completions.create(**asked(messages))

            for model in [coroutine, lambda messages: client.chat.completions.create(**asked(messages))]:
                assert done(await agent(model).run("Double 4."))

    with replay.Server(CALLS) as server:
        address = server.url(how) + "/v1"
        client = openai.OpenAI(base_url=address, api_key="none", max_retries=0, timeout=60)
        assert done(agent(lambda messages: client.chat.completions.create(**asked(messages))).run_sync("Double 4."))
        asyncio.run(main(address))


@pytest.mark.parametrize("name", ["httpx", "httpx2"])
@pytest.mark.parametrize("how", replay.CUTS)
def test_agents_ask_through_httpx(name, how):
    httpx = pytest.importorskip(name, reason=f"{name} is not installed, so no agent asked through it")
    with replay.Server(CALLS) as server:
        address = server.url(how) + "/v1/chat/completions"

        def blocking(messages):
            with httpx.stream("POST", address, json=asked(messages), timeout=60) as response:
                yield from response.iter_bytes()

        async def asynchronous(messages):
            async with httpx.AsyncClient(timeout=60) as client, client.stream("POST", address, json=asked(messages)) as response:
                async for piece in response.aiter_bytes():
                    yield piece

        assert done(agent(blocking).run_sync("Double 4.")) and done(agent(asynchronous).run_sync("Double 4."))
