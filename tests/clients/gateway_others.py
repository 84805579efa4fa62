"""The same clients in their other forms: asynchronous ones in Python, and those for JavaScript, which run in one Node.js process."""

import asyncio
import json
import pathlib
import subprocess

import anthropic
import ollama
import openai
from gateway_readers import FACES, Reply, check, fill_chat, fill_messages, fill_ollama, fill_responses, given, tools_for

QUESTION = [{"role": "user", "content": "go"}]


# Asynchronous clients.


async def chat(url, model, tools, stream):
    reply = Reply()
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=60) as client:
        if not stream:
            choice = (await client.chat.completions.create(model=model, messages=QUESTION, **given(tools))).choices[0]
            fill_chat(choice.message, choice.finish_reason, reply)
            return reply
        thought = ""
        async with client.chat.completions.stream(model=model, messages=QUESTION, **given(tools)) as events:
            async for event in events:
                if event.type == "chunk" and event.chunk.choices:
                    thought += getattr(event.chunk.choices[0].delta, "reasoning_content", None) or ""
            choice = (await events.get_final_completion()).choices[0]
        fill_chat(choice.message, choice.finish_reason, reply)
        reply.thought = thought
        return reply


async def responses(url, model, tools, stream):
    reply = Reply()
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=60) as client:
        if not stream:
            fill_responses(await client.responses.create(model=model, input=QUESTION, **given(tools)), reply)
            return reply
        async with client.responses.stream(model=model, input=QUESTION, **given(tools)) as events:
            async for _ in events:
                pass
            fill_responses(await events.get_final_response(), reply)
        return reply


async def messages(url, model, tools, stream):
    reply = Reply()
    async with anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0, timeout=60) as client:
        if not stream:
            fill_messages(await client.messages.create(model=model, messages=QUESTION, max_tokens=1024, **given(tools)), reply)
            return reply
        async with client.messages.stream(model=model, messages=QUESTION, max_tokens=1024, **given(tools)) as events:
            text = "".join([piece async for piece in events.text_stream])
            fill_messages(await events.get_final_message(), reply)
        check("text of the helper", text, reply.text)
        return reply


async def ollama_chat(url, model, tools, stream):
    reply, client = Reply(), ollama.AsyncClient(host=url, timeout=60)
    got = await client.chat(model=model, messages=QUESTION, stream=stream, **given(tools))
    if not stream:
        fill_ollama(got.message, reply)
        reply.reason = got.done_reason
        return reply
    async for part in got:
        fill_ollama(part.message, reply)
        reply.reason = part.done_reason or reply.reason
    return reply


ASYNC = {"chat": chat, "responses": responses, "messages": messages, "ollama": ollama_chat}


def check_async(url, vectors, check_reply):
    """All clients at once, for each vector. Yields a fault or `None` for each response."""

    async def one(face, vector, stream):
        try:
            reply = await ASYNC[face](url, f"{vector['dialect']}/lot", tools_for(face, vector), stream)
            check_reply(face, vector, reply)
        except Exception as error:
            return f"{vector['id']}, asynchronous {face}, streamed {stream}: {type(error).__name__}: {error}"

    async def all_of(vector):
        return await asyncio.gather(*(one(face, vector, stream) for face in ASYNC for stream in [False, True]))

    for vector in vectors:
        yield from asyncio.run(all_of(vector))


# JavaScript.

# The finish reasons of the AI SDK, which are its own, and the same for every provider.
AI_REASONS = {"called": "tool-calls", "plain": "stop"}


def neutral(vector):
    out = []
    for tool in vector.get("tools") or []:
        own = tool.get("function", tool)
        schema = own.get("parameters") or {"type": "object", "properties": {}}
        out.append({"name": own["name"], "description": own.get("description", ""), "schema": schema})
    return out


def check_node(packages, url, vectors, check_reply):
    """Each vector with each JavaScript client. Yields a fault or `None` for each response."""
    script = pathlib.Path(__file__).with_name("gateway_clients.mjs")
    plan = {"url": url, "cases": [{"model": f"{vector['dialect']}/lot", "tools": neutral(vector)} for vector in vectors]}
    command = ["node", str(script), packages]
    done = subprocess.run(command, input=json.dumps(plan), stdout=subprocess.PIPE, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    check("responses", len(lines), len(vectors) * 14)
    for line in lines:
        vector, what = vectors[line["case"]], line["way"]
        try:
            if "error" in line:
                raise RuntimeError(line["error"])
            reply = Reply(**line["reply"])
            if what.startswith("ai-"):
                called = bool(vector["expect"]["calls"])
                check("reason", reply.reason, AI_REASONS["called" if called else "plain"])
                reply.reason = FACES[line["face"]].called if called else FACES[line["face"]].plain
            if what.startswith("ai-openai."):
                # It reads only summaries of OpenAI's own models.
                reply.thought = vector["expect"].get("reasoning", "")
            check_reply(line["face"], vector, reply)
            yield None
        except Exception as error:
            yield f"{vector['id']}, {what}: {type(error).__name__}: {error}"
