"""The proxy of LiteLLM with `litellm_hook.py`, and a model that writes its calls into its text."""

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from openai import OpenAI
from text_server import text_server

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Tells the weather of a city.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]


def wait_for(address, process):
    for _ in range(240):
        try:
            return urllib.request.urlopen(address + "/health/liveliness")
        except OSError:
            assert process.poll() is None, "the proxy ended"
            time.sleep(0.5)
    raise TimeoutError(address)


with text_server() as upstream, tempfile.TemporaryDirectory() as folder:
    # The proxy looks for the hook beside its configuration.
    Path(folder, "litellm_hook.py").write_bytes(Path(__file__).with_name("litellm_hook.py").read_bytes())
    params = {"model": "openai/m", "api_base": upstream, "api_key": "none"}
    config = {"model_list": [{"model_name": "m", "litellm_params": params}]}
    config["litellm_settings"] = {"callbacks": "litellm_hook.hook"}
    Path(folder, "config.yaml").write_text(json.dumps(config))  # JSON is YAML.
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [Path(sys.executable).with_name("litellm"), "--config", "config.yaml", "--host", "127.0.0.1"]
    key = "sk-" + secrets.token_hex(16)
    environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MASTER_KEY": key}
    with subprocess.Popen([*command, "--port", str(port)], cwd=folder, env=environment) as proxy:
        try:
            address = f"http://127.0.0.1:{port}"
            wait_for(address, proxy)
            client = OpenAI(base_url=address, api_key=key)
            messages = [{"role": "user", "content": "How is the weather in Leith?"}]
            reply = client.chat.completions.create(model="m", messages=messages, tools=TOOLS).choices[0]
            assert reply.finish_reason == "tool_calls" and not reply.message.content, reply
            call = reply.message.tool_calls[0]
            assert json.loads(call.function.arguments) == {"city": "Leith"}, call
            messages += [reply.message, {"role": "tool", "tool_call_id": call.id, "content": "rain"}]
            print(client.chat.completions.create(model="m", messages=messages, tools=TOOLS).choices[0].message.content)

            streamed = client.chat.completions.create(model="m", messages=messages[:1], tools=TOOLS, stream=True)
            choices = [choice for chunk in streamed for choice in chunk.choices]
            pieces = [piece.function for choice in choices for piece in choice.delta.tool_calls or []]
            assert "".join(piece.arguments or "" for piece in pieces) == '{"city": "Leith"}', pieces
            assert pieces[0].name == "weather" and not any(choice.delta.content for choice in choices), choices
            assert choices[-1].finish_reason == "tool_calls", choices
        finally:
            proxy.terminate()
