"""Compares the layouts in dialect files (table `prompt`) with what models' own chat templates write, byte by byte.

    layouts.py COMMAND FOLDER [--show]      FOLDER holds the unpacked archives

A layout's text must be part of the prompt that the template writes with tools, and its results part of the conversation. What
the template adds with tools beside that is listed in `BESIDE`. `--show` prints both texts.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from os.path import commonprefix
from pathlib import Path

from check import find, ready
from render import FORMS
from shapes import TOOLS

HERE = Path(__file__).parent
FILES = HERE.parent.parent / "src" / "dialect" / "builtin"
# The template of each dialect, and whether the host has a system message.
LAYOUTS = {
    "apertus": ("Apertus-8B-Instruct", True),
    "apriel": ("Apriel-1.6-15b-Thinker-fixed", True),
    "command-r7b": ("CohereForAI-c4ai-command-r7b-12-2024-tool_use", True),
    "deepseek-v3": ("tool_chat_template_deepseekv3", True),
    "deepseek-v32": ("deepseek-ai-DeepSeek-V3.2", True),
    "deepseek-v4": ("deepseek-ai-DeepSeek-V4", True),
    "functionary-v32": ("meetkai-functionary-medium-v3.2", True),
    "gemma4": ("tool_chat_template_gemma4", True),
    "gigachat3": ("GigaChat3-10B-A1.8B", True),
    "gigachat31": ("GigaChat3.1-10B-A1.8B", True),
    "glm45": ("GLM-4.6", True),
    "glm47": ("GLM-4.7-Flash", True),
    "granite4": ("ibm-granite-granite-4.0", True),
    "hermes": ("Qwen-Qwen2.5-7B-Instruct", True),
    "hunyuan-a13b": ("tool_chat_template_hunyuan_a13b", False),
    "internlm2": ("tool_chat_template_internlm2_tool", True),
    "kimi-k3": ("Kimi-K3", True),
    "lfm2": ("LFM2-8B-A1B", True),
    "ling3": ("inclusionai-ling-3.0-flash", True),
    "llama4-pythonic": ("tool_chat_template_llama4_pythonic", True),
    "minicpm5": ("openbmb-MiniCPM5-1B", True),
    "minimax-m1": ("MiniMax-M1", True),
    "minimax-m2": ("MiniMax-M2", True),
    "minimax-m3": ("MiniMax-M3", True),
    "mistral": ("mistralai-Mistral-Nemo-Instruct-2407", True),
    "mistral-args": ("Mistral-Small-3.2-24B-Instruct-2506", True),
    "muse": ("muse-glimmer", True),
    "phi4-functools": ("tool_chat_template_phi4_mini", True),
    "poolside": ("poolside-Laguna-S-2.1", True),
    "qwen3-coder": ("Qwen3-Coder", True),
    "seed-oss": ("ByteDance-Seed-OSS", True),
    "solar-open": ("upstage-Solar-Open-100B", True),
    "spark25": ("Spark2.5", True),
    "xlam": ("tool_chat_template_xlam_llama", False),
}
# Results that another template writes.
RESULTS = {"deepseek-v3": "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B"}
# What is left of the template's text: definitions are a message of their own, and the time is not part of a layout.
BESIDE = {
    "gigachat3": "function descriptions<|role_sep|>\n\n\n<|message_sep|>",
    "gigachat31": "function descriptions<|role_sep|>\n\n\n<|message_sep|>",
    "glm45": "<|system|>",
    "glm47": "<|system|>",
    "hunyuan-a13b": "当前时间：2025-01-31 12:00:00 星期五<|extra_4|>用户：",
    "internlm2": "system name=<|plugin|>\n<|im_end|>\n<|im_start|>",
    "kimi-k3": 'ool-declare"<|sep|><|close|>message<|sep|><|end_of_msg|><|open|>message role="system" type="t',
    "minimax-m1": "system tool_setting=tools\n<end_of_sentence>\n<beginning_of_sentence>",
}
SCHEMAS = {
    "get_weather": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Name of the city"},
            "days": {"type": "integer", "description": "How many days.", "default": 3},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "description": "Unit"},
        },
        "required": ["city"],
    },
    "notify": {
        "type": "object",
        "properties": {
            "标签": {"type": "array", "items": {"type": "string"}, "description": "标签，例如“急”"},
            "urgent": {"type": "boolean", "default": False},
            "level": {"type": "integer", "minimum": 1, "maximum": 9},
            "note": {"type": "string", "default": "a \"b\" 'c'", "maxLength": 80},
            "when": {
                "type": "object",
                "description": "The time",
                "properties": {"day": {"type": "string", "format": "date"}, "hours": {"type": "array", "items": {"type": "number"}}},
                "required": ["day"],
            },
            "people": {
                "type": "array",
                "items": {"type": "object", "properties": {"name": {"type": "string", "enum": ["甲", "乙"]}}, "required": ["name"]},
            },
        },
        "required": ["标签", "when"],
    },
    "ping": {"type": "object", "properties": {}},
}
ABOUT = {"get_weather": "Tells the weather of a city", "notify": "通知用户", "ping": "Does nothing"}
DEFINED = [
    {"type": "function", "function": {"name": name, "description": ABOUT[name], "parameters": schema}} for name, schema in SCHEMAS.items()
]
RETURNED = [("get_weather", "It's 21 °C & sunny: 晴"), ("ping", "done")]
# One template demands ids of nine characters, and one numbers the calls.
IDS = {"command-r7b": ["0", "1"]}
ANY = ["abcdefghi", "bcdefghij"]


def ours(command, part, dialect, value):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(value, file)
        file.flush()
        words = ["--tools", file.name] if part == "prompt" else [file.name]
        # The file as it is now, whatever the program was built with.
        own = ["--dialect", dialect, "--dialect-file", FILES / f"{dialect}.toml"]
        done = subprocess.run([command, part, *own, *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{dialect}: {done.stderr}")
    return done.stdout.removesuffix("\n")


def middle(text, other):
    """The text without what both begin and end with."""
    begin = len(commonprefix([text, other]))
    end = len(commonprefix([text[begin:][::-1], other[begin:][::-1]]))
    return text[begin : len(text) - end]


def conversation(template, system, results):
    talk = [{"role": "system", "content": "Be brief."}] if system else []
    talk.append({"role": "user", "content": "How is the weather?"})
    said = {"text": "", "reasoning": "", "calls": [{"name": name, "arguments": {}} for name, _ in RETURNED]}
    call = template._message(said, template.form)
    answers = []
    for made, result in zip(call["tool_calls"], results, strict=True):
        made["id"] = result["id"]
        answers.append({"role": "tool", "tool_call_id": result["id"], "name": result["name"], "content": result["content"]})
    return talk, [*talk, call, *answers]


def main():
    command, folder, *rest = sys.argv[1:]
    known = tomllib.loads((HERE / "templates.toml").read_text())
    sources = {}
    for _, name, source in find(folder):
        sources.setdefault(name, source)
    wrong = 0

    def load(name):
        template = ready(known, name, sources[name])
        if not template.probe(TOOLS):
            template.form = FORMS[0]
        return template

    def compare(dialect, part, have, want):
        nonlocal wrong
        if "--show" in rest:
            print(f"\n--- {dialect}: {part}\n{have}\n--- {dialect}: its template\n{want}")
        if have not in want:
            wrong += 1
            line = next((line for line in have.splitlines() if line not in want), "its lines are, but not their order")
            print(f"{dialect}: {part}: not what the template writes: {line!r}")

    for dialect, (name, system) in LAYOUTS.items():
        ids = IDS.get(dialect, ANY)
        results = [{"id": made, "name": tool, "content": text} for made, (tool, text) in zip(ids, RETURNED, strict=True)]
        template = load(name)
        talk, _ = conversation(template, system, results)
        have, want = ours(command, "prompt", dialect, DEFINED), template.render(talk, DEFINED)
        compare(dialect, "definitions", have, want)
        beside = middle(want.replace(have, "", 1), template.render(talk, None))
        if have in want and beside.strip() != BESIDE.get(dialect, ""):
            wrong += 1
            print(f"{dialect}: beside the layout, the template writes {beside!r}")
        template = load(RESULTS.get(dialect, name))
        _, whole = conversation(template, system, results)
        want = template.render(whole, DEFINED)
        have = ours(command, "result", dialect, results)
        # A layout that writes nothing around results has one message for each.
        lone = [ours(command, "result", dialect, [result]) for result in results]
        for text in [have] if have in want else lone:
            compare(dialect, "results", text, want)
    print(f"{len(LAYOUTS)} layouts compared with templates, {wrong} differ")
    sys.exit(bool(wrong))


main()
