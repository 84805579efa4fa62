"""How the official clients read a response.

Each way of reading fills a reply, which also holds what came before an error. The client's own message is returned for the next turn.
"""

import contextlib
import json
from dataclasses import dataclass, field

import anthropic
import ollama
import openai
from openai.lib.streaming.chat import ChatCompletionStreamState


class Wrong(Exception):
    """A client received what it must not receive."""


def check(what, got, expected):
    if got != expected:
        raise Wrong(f"{what}: {got!r} is not {expected!r}")


def claim(holds, what):
    if not holds:
        raise Wrong(what)


@dataclass
class Reply:
    """A client's view of a response: for calls, names and arguments as text."""

    text: str = ""
    thought: str = ""
    calls: list = field(default_factory=list)
    reason: str | None = None

    def read(self):
        """The calls whose arguments are complete."""
        out = []
        for name, arguments in self.calls:
            with contextlib.suppress(ValueError):
                out.append((name, json.loads(arguments)))
        return out


class Clients:
    def __init__(self, url):
        # No retries: the first answer counts.
        self.openai = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=60)
        self.anthropic = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, timeout=60)
        self.ollama = ollama.Client(host=url, timeout=60)


def given(tools):
    return {"tools": tools} if tools else {}


def chat_tool(name, description, schema):
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def fill_chat(message, reason, reply):
    reply.text = message.content or ""
    reply.thought = getattr(message, "reasoning_content", None) or ""
    reply.calls = [[call.function.name, call.function.arguments] for call in message.tool_calls or []]
    reply.reason = reason


def chat(clients, model, messages, tools, reply):
    got = clients.openai.chat.completions.create(model=model, messages=messages, **given(tools))
    # A page that is not JSON is returned as text.
    if isinstance(got, str):
        raise openai.OpenAIError("no JSON")
    fill_chat(got.choices[0].message, got.choices[0].finish_reason, reply)
    check("usage", got.usage.completion_tokens, 4)
    return [got.choices[0].message]


def chat_stream(clients, model, messages, tools, reply):
    state, ids = ChatCompletionStreamState(), []
    with clients.openai.chat.completions.create(model=model, messages=messages, stream=True, **given(tools)) as stream:
        for chunk in stream:
            state.handle_chunk(chunk)
            for choice in chunk.choices:
                check("nothing after the reason", reply.reason, None)
                reply.text += choice.delta.content or ""
                reply.thought += getattr(choice.delta, "reasoning_content", None) or ""
                for piece in choice.delta.tool_calls or []:
                    if piece.index == len(reply.calls):
                        ids.append(piece.id)
                        reply.calls.append([piece.function.name, ""])
                    check("index", piece.index, len(reply.calls) - 1)
                    reply.calls[piece.index][1] += piece.function.arguments or ""
                reply.reason = choice.finish_reason or reply.reason
    if not reply.reason:
        raise openai.OpenAIError("no reason")
    check("ids differ", len(set(ids)), len(ids))
    # The accumulator treats a response truncated by the token limit as an error.
    if reply.reason == "length":
        return None
    final, own = state.get_final_completion().choices[0], Reply()
    fill_chat(final.message, final.finish_reason, own)
    # The client's accumulator does not support reasoning.
    own.thought = own.thought or reply.thought
    check("accumulated", own, reply)
    return [final.message.to_dict(exclude_none=True)]


def responses_tool(name, description, schema):
    return {"type": "function", "name": name, "description": description, "parameters": schema, "strict": False}


def fill_responses(response, reply):
    reply.text, reply.thought, reply.calls = response.output_text, "", []
    for item in response.output:
        if item.type == "reasoning":
            reply.thought += "".join(part.text for part in item.content or [])
        elif item.type == "function_call":
            reply.calls.append([item.name, item.arguments])
    reply.reason = response.status
    if response.status == "failed":
        raise openai.OpenAIError(response.error.message)


def responses(clients, model, messages, tools, reply):
    got = clients.openai.responses.create(model=model, input=messages, **given(tools))
    if isinstance(got, str):
        raise openai.OpenAIError("no JSON")
    fill_responses(got, reply)
    check("usage", got.usage.output_tokens, 4)
    return got.output


def responses_stream(clients, model, messages, tools, reply):
    last, final = None, None
    # The helper checks the order of the events, and assembles the response.
    with clients.openai.responses.stream(model=model, input=messages, **given(tools)) as stream:
        for number, event in enumerate(stream):
            check("number", event.sequence_number, number)
            last = event.type
            if event.type == "response.output_text.delta":
                reply.text += event.delta
            elif event.type == "response.reasoning_text.delta":
                reply.thought += event.delta
            elif event.type == "response.output_item.added" and event.item.type == "function_call":
                reply.calls.append([event.item.name, ""])
            elif event.type == "response.function_call_arguments.delta":
                reply.calls[-1][1] += event.delta
            elif event.type == "response.function_call_arguments.done":
                check("arguments done", event.arguments, reply.calls[-1][1])
            elif event.type == "response.failed":
                raise openai.OpenAIError(event.response.error.message)
            elif event.type == "response.incomplete":
                final = event.response
        # The helper only returns complete responses.
        final = final or stream.get_final_response()
    own = Reply()
    fill_responses(final, own)
    reply.reason = final.status
    check("last event", last, f"response.{final.status}")
    check("accumulated", own, reply)
    check("usage", final.usage.output_tokens, 4)
    return final.output


def messages_tool(name, description, schema):
    return {"name": name, "description": description, "input_schema": schema}


def fill_messages(message, reply):
    reply.text = "".join(block.text for block in message.content if block.type == "text")
    reply.thought = "".join(block.thinking for block in message.content if block.type == "thinking")
    reply.calls = [[block.name, json.dumps(block.input)] for block in message.content if block.type == "tool_use"]
    reply.reason = message.stop_reason


def messages(clients, model, messages, tools, reply):
    got = clients.anthropic.messages.create(model=model, messages=messages, max_tokens=1024, **given(tools))
    if isinstance(got, str):
        raise anthropic.AnthropicError("no JSON")
    fill_messages(got, reply)
    check("usage", got.usage.output_tokens, 4)
    return [{"role": "assistant", "content": got.content}]


def messages_stream(clients, model, messages, tools, reply):
    ended = False
    with clients.anthropic.messages.create(model=model, messages=messages, max_tokens=1024, stream=True, **given(tools)) as stream:
        open_block = None
        for event in stream:
            check("nothing after the end", ended, False)
            if event.type == "content_block_start":
                check("one block at a time", open_block, None)
                open_block = event.index
                if event.content_block.type == "tool_use":
                    reply.calls.append([event.content_block.name, ""])
            elif event.type == "content_block_stop":
                check("the open block", open_block, event.index)
                open_block = None
                if reply.calls and reply.calls[-1][1] == "":
                    reply.calls[-1][1] = "{}"
            elif event.type == "content_block_delta":
                check("the open block", open_block, event.index)
                reply.text += getattr(event.delta, "text", "")
                reply.thought += getattr(event.delta, "thinking", "")
                if event.delta.type == "input_json_delta":
                    reply.calls[-1][1] += event.delta.partial_json
            elif event.type == "message_delta":
                reply.reason = event.delta.stop_reason
                check("usage", event.usage.output_tokens, 4)
            ended = event.type == "message_stop"
    if not ended:
        raise anthropic.AnthropicError("no end")


def messages_helper(clients, model, messages, tools, reply):
    with clients.anthropic.messages.stream(model=model, messages=messages, max_tokens=1024, **given(tools)) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    fill_messages(final, reply)
    check("text of the helper", text, reply.text)
    if not reply.reason:
        raise anthropic.AnthropicError("no end")
    return [{"role": "assistant", "content": final.content}]


def fill_ollama(message, reply):
    reply.text += message.content or ""
    reply.thought += message.thinking or ""
    reply.calls += [[call.function.name, json.dumps(call.function.arguments)] for call in message.tool_calls or []]


def ollama_chat(clients, model, messages, tools, reply):
    got = clients.ollama.chat(model=model, messages=messages, **given(tools))
    fill_ollama(got.message, reply)
    check("done", got.done, True)
    check("usage", got.eval_count, 4)
    reply.reason = got.done_reason
    return [got.message]


def ollama_stream(clients, model, messages, tools, reply):
    done = False
    for part in clients.ollama.chat(model=model, messages=messages, stream=True, **given(tools)):
        check("nothing after the end", done, False)
        fill_ollama(part.message, reply)
        done, reply.reason = part.done, part.done_reason
    if not done:
        raise ollama.ResponseError("no end")
    calls = [{"function": {"name": name, "arguments": json.loads(text)}} for name, text in reply.calls]
    return [{"role": "assistant", "content": reply.text, "thinking": reply.thought, "tool_calls": calls}]


@dataclass
class Face:
    """An interface: how its clients read, the form of its tools, its finish reasons with and without calls."""

    ways: list
    tool: object
    called: str
    plain: str
    # Text comes in blocks or items.
    blocks: bool = False


FACES = {
    "chat": Face([chat, chat_stream], chat_tool, "tool_calls", "stop"),
    "responses": Face([responses, responses_stream], responses_tool, "completed", "completed", True),
    "messages": Face([messages, messages_stream, messages_helper], messages_tool, "tool_use", "end_turn", True),
    # Ollama has no separate reason for calls.
    "ollama": Face([ollama_chat, ollama_stream], chat_tool, "stop", "stop"),
}


def tools_for(face, vector):
    out = []
    for tool in vector.get("tools") or []:
        own = tool.get("function", tool)
        schema = own.get("parameters") or {"type": "object", "properties": {}}
        out.append(FACES[face].tool(own["name"], own.get("description", ""), schema))
    return out
