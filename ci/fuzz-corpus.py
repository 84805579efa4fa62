#!/usr/bin/env python3
"""Writes the seed corpus of most fuzz targets, from the conformance vectors, the built-in dialect files and what is here.

Usage: ci/fuzz-corpus.py (from anywhere). Existing seeds are replaced; the result depends only on the files read.
Findings belong in fuzz/regressions/, which this script does not touch.
"""

import json
import pathlib
import re
import shutil

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPUS = ROOT / "fuzz" / "corpus"
BUILTIN = ROOT / "src" / "dialect" / "builtin"
PER_DIALECT = 8
MAX_INPUT = 500

# The header of a chunking input (see fuzz/checks/case.rs): dialect set, mode, extra, limit, chunking, three places.
HEADERS = [
    (0, 0x00, 0x00, 0x00, 0x08, 0, 0, 40),
    (0, 0x03, 0x02, 0x00, 0x18, 9, 9, 90),
    (0, 0x01, 0x12, 0x91, 0xC8, 1, 2, 3),
    (0, 0x40, 0x08, 0xA2, 0x00, 30, 60, 50),
    (0, 0x90, 0x36, 0x13, 0x29, 10, 30, 70),
    (0, 0x02, 0x80, 0x47, 0xD2, 7, 8, 120),
    (0, 0x00, 0x62, 0x68, 0x10, 5, 22, 33),
    (0, 0x18, 0x81, 0x35, 0xE3, 4, 4, 60),
]

# In addition to the vectors: bounds that mutations rarely reach, with inputs just within and just beyond them.
BOUNDS = {
    "blanks-confirm-64": '<tool_call name="f"><param name="s">a</param>' + " " * 64 + "</tool_call>",
    "blanks-confirm-65": '<tool_call name="f"><param name="s">a</param>' + " " * 65 + "</tool_call>",
    "blanks-close-tag-64": '<tool_call name="f"><param name="s">a</param' + " " * 64 + "></tool_call>",
    "blanks-close-tag-65": '<tool_call name="f"><param name="s">a</param' + " " * 65 + "></tool_call>",
    "blanks-probe-256": "<ACTION>" + " " * 256 + "<f><s>v</s></f></ACTION>",
    "blanks-probe-257": "<ACTION>" + " " * 257 + "<f><s>v</s></f></ACTION>",
    "blanks-quote": '<tool_action name="f"><s value="a"' + " " * 65 + "/></tool_action>",
    "entity-longest": '<tool_call name="f"><param name="s">&#x0000010ffff;&abcdefghijklmnopqrstuvwxyz;</param></tool_call>',
    "nested": "<ACTION><f>" + "<l>" * 40 + "x" + "</l>" * 40 + "</f></ACTION>",
    "chain": "<|[REQUEST_TOOL]|>\n" + "".join(f"command{n}:「始」f「末」\ns{n}:「始」{n}「末」\n" for n in range(1, 12)) + "<|[END_TOOL]|>",
    "closer-in-value": "<|[REQUEST_TOOL]|>\ncommand:「始」f「末」\ns:「始」<|[END_TOOL]|> ... 「末」\n<|[END_TOOL]|>",
    "field-lines-in-value": "<|[REQUEST_TOOL]|>\ncommand:「始」f「末」\ns:「始」a\nb:\nc :\n「始」d「末」\n<|[END_TOOL]|>",
    "wide-closer": "<<<<[TOOL_REQUEST]>>>>>>>\ntool_name:「始」f「末」\n<<<<[END_TOOL_REQUEST]>>>>>>>x",
    "fences": "`<<<[TOOL_REQUEST]>>>` ``a` ``\n```\n<<<[TOOL_REQUEST]>>>\n~~~\n```\n<think>\n<think>a</think>b</think>c",
}

# Lines added to one built-in file (the index in its list, plus the number of files so that it is not taken for a mode).
PATCHES = {
    "tam": ['open = ["<<"]\nclose = [">>"]', 'case = "ignore"', 'open = ["a", "ab", "abc"]\nclose = ["b"]', 'lookahead = 0'],
    "vcp": ['extra = ">>"', 'colon = ["="]\nseparators = []', 'fold = ["punctuation"]\ntrim = "ends"'],
    "tool-call-xml": ['call = "t"\nparam = "p"', 'confirm = 0', 'confirm = 3', 'nameless = ["<"]', 'call = "工具"\nname = "名"'],
    "action": ['open = "<A>"\nclose = "</A>"', 'item = "a"'],
    "tool-action": ['call = "x"\nvalue = "v"\nname = "v"', 'confirm = 65536'],
}


# Three parts of equal length: text before, the text to escape, text after.
ESCAPES = [
    "<tool_call ",
    "<th<think>nk>",
    "...<\\think>...",
    "[本轮工具调用摘要:]",
    "<<<[TOOL_REQUEST]>>>",
    "{\\x7b}\\\\x7b\\{",
]

# Bodies for the payload targets.
JSON_BODIES = [
    '{"s": "a\\n\\u00e9\\ud83d\\ude00\\/", "i": -1, "n": 1.50e+2, "l": [1, [], {}], "any": null}',
    '{}',
    '{"s": "</tool_call>", "x": "[/TOOL_CALLS] <|tool_call_end|> ```"}',
    '[true, false, null, "", 0, -0.0, 1e400]',
    '"a \\"quoted\\" text"',
    " {\n  'single': True, bare: None, \"t\": 1,}\n",
    '{"a": {"b": {"c": {"d": [[[["deep"]]]]}}}}',
    '{"a": 1, "a": 2}',
    '{"cut": "at the ',
    '{"raw": "line\nend"}',
    '"{\\"s\\": \\"in a string\\"}"',
    '0.1234567890123456789012345678901234567890',
]
PYTHON_BODIES = [
    '"text"', "'it\\'s'", '[1, 2.5, -3, 1e5]', '{"a": 1, \'b\': [True, False, None]}', '(1, 2,)', '0x1F', '1_000',
    "'a' 'b'", 'r"\\raw"', 'f"{x}"', '"""long\nstring"""', 'datetime.now()', '"a", s="b", i=3', '"end")]<|python_end|>',
    '[[[[]]]]', '"\\x41\\u00e9\\N{DASH}"',
]
TEXT_BODIES = [
    'a plain text', '\nbetween newlines\n', '  blanks  ', '{"json": [1, 2]}', '42', 'true', 'a < b && c > d',
    '</parameter> in a text', '<parameter=s>\nv', '</arg_value><arg_key>i</arg_key><arg_value>3', '<![CDATA[ raw ]]>',
    '</invoke>', '<function=f>', 'line\r\nend', '\u4e2d\u6587', '<item>one</item><item>two</item>', '<|"|>,any:<|"|>', '```', ']]>',
]


# Bodies of servers' responses, by the number of the protocol in fuzz/checks/source.rs.
RESPONSES = [
    (0, 'data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}\n\n'
        'data: {"choices":[{"index":0,"delta":{"reasoning_content":"h","tool_calls":[{"index":0,"id":"t","type":"function",'
        '"function":{"name":"f","arguments":"{\\"s\\":"}}]}}]}\n\ndata: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":'
        '{"arguments":"1}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":4}}\n\ndata: [DONE]\n\n'),
    (0, '{"choices":[{"message":{"content":"a","tool_calls":[{"id":"t","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}'),
    (0, ': ping\n\nevent: error\ndata: {"error":{"message":"gone","type":"server_error","code":500}}\n\n'),
    (1, 'event: message_start\ndata: {"type":"message_start","message":{"id":"m","model":"c","usage":{"input_tokens":3}}}\n\n'
        'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}\n\n'
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\\"s\\":1}"}}\n\n'
        'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\nevent: message_delta\ndata: {"type":"message_delta",'
        '"delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":4}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n'),
    (1, '{"type":"message","content":[{"type":"thinking","thinking":"h"},{"type":"text","text":"a"}],"stop_reason":"end_turn"}'),
    (2, '{"model":"m","message":{"role":"assistant","content":"a","thinking":"h"},"done":false}\n'
        '{"message":{"content":"","tool_calls":[{"function":{"name":"f","arguments":{"s":1}}}]},"done":true,"done_reason":"stop","eval_count":4}\n'),
    (2, '{"response":"a","done":true,"done_reason":"length"}\n{"error":"gone"}\n'),
]

SCHEMA = {
    "type": "object", "required": ["s"], "$defs": {"k": {"enum": ["a", "b"]}},
    "properties": {
        "s": {"type": "string", "minLength": 1}, "n": {"type": ["integer", "null"], "maximum": 9}, "k": {"$ref": "#/$defs/k"},
        "l": {"type": "array", "items": {"anyOf": [{"type": "number"}, {"type": "boolean"}]}, "default": [1]},
        "o": {"allOf": [{"type": "object", "properties": {"x": {"const": 1}}, "additionalProperties": False}]},
    },
}
FUNCTION = {"name": "f", "description": "Does f.", "parameters": SCHEMA}
# Definitions in every form, and arguments.
TOOLS = [
    ([{"type": "function", "function": FUNCTION}], {"s": "a", "n": 3}),
    ([FUNCTION, FUNCTION, {"name": ""}], {"s": 1, "k": "a", "l": ["1", "true"]}),
    ([{"name": "f", "input_schema": SCHEMA}], {"S": "a", "o": '{"x": 1}'}),
    ({"tools": [{"name": "f", "inputSchema": SCHEMA}]}, {"n": "3"}),
    ({"tools": [FUNCTION]}, []),
]
# Forms of agents, policies, what a run is told, saved runs.
WIRES = [
    ('{"dialect":"hermes","shape":"openai","config":{"maxIterations":2},"tools":[{"name":"f","parameters":{}}]}', '{"allow":[{}]}',
     '{"model":"PHRvb2xfY2FsbD57Im5hbWUiOiAiZiIsICJhcmd1bWVudHMiOiB7fX08L3Rvb2xfY2FsbD4="}\n{"ended":"stop"}', '{}'),
    ("", '{"deny":[{"tools":["f"]}],"confirm":[{"tools":["g*"],"where":{"n":{"const":1}}}]}', '{"tick":5}\n"cancel"\n{"failed":"gone"}', ""),
]
MESSAGES = [
    {"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "a"}]},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "t", "content": "rain"},
]  # fmt: skip
# Requests, by the number of the protocol in fuzz/checks/gateway.rs.
REQUESTS = [
    (0, {"model": "m", "messages": MESSAGES, "tools": [{"type": "function", "function": FUNCTION}], "tool_choice": "auto", "stream": True}),
    (1, {"model": "m", "instructions": "Be brief.", "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "a"}]}, {"type": "function_call", "call_id": "t", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "t", "output": "rain"}, {"type": "reasoning", "summary": []},
    ], "tools": [{"type": "function", **FUNCTION}], "text": {"format": {"type": "json_object"}}}),
    (2, {"model": "m", "max_tokens": 9, "system": [{"type": "text", "text": "Be brief."}], "messages": [
        {"role": "user", "content": "a"}, {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "rain"}], "is_error": True}]},
    ], "tools": [{"name": "f", "input_schema": SCHEMA}], "tool_choice": {"type": "tool", "name": "f"}, "thinking": {"type": "enabled", "budget_tokens": 5}}),
    (3, {"model": "m", "messages": [
        {"role": "user", "content": "a", "images": ["aGk="]}, {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]},
        {"role": "tool", "tool_name": "f", "content": "rain"},
    ], "options": {"num_predict": 9, "temperature": 0.5}, "format": SCHEMA, "think": "low", "stream": False}),
]  # fmt: skip


def fresh(name):
    folder = CORPUS / name
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    return folder


def vectors():
    for path in sorted((ROOT / "tests" / "vectors").glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        short = [v for v in lines if "input" in v and len(v["input"].encode()) <= MAX_INPUT]
        step = max(1, len(short) // PER_DIALECT)
        for vector in short[::step][:PER_DIALECT]:
            yield path.stem, vector["id"].replace("/", "--"), vector["input"].encode()
    for name, text in BOUNDS.items():
        yield "bounds", f"bounds--{name}", text.encode()


def order():
    """The ids of the built-in list, in order."""
    text = (BUILTIN.parent / "builtin.rs").read_text(encoding="utf-8")
    return re.findall(r'^    "([a-z0-9-]+)"$', text, re.MULTILINE)


def bare(text):
    """A dialect file without the parts that do not affect parsing."""
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^sources = \[\n(?:  .*\n)*\]\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^\[observe\]\n(?:\w+ = .*\n)*", "", text, flags=re.MULTILINE)


def main():
    chunking, builtin, user, escape = fresh("chunking"), fresh("builtin"), fresh("user_dialect"), fresh("escape")
    encode, snapshot = fresh("encode"), fresh("snapshot")
    inputs = {}
    for number, (dialect, name, data) in enumerate(vectors()):
        header = list(HEADERS[number % len(HEADERS)])
        # Bounds are for the default set, byte by byte; the others rotate through all sets.
        if dialect == "bounds":
            header = list(HEADERS[0])
        else:
            header[0] = number % 16
        (chunking / name).write_bytes(bytes(header) + data)
        # Two positions of the state with their new values; the stream is stopped near its middle.
        if number % 2 == 0:
            changes = bytes([number * 5 % 256, 0, number * 91 % 256, number * 13 % 256, 0, 255 - number % 3])
            (snapshot / name).write_bytes(changes + bytes(header[:7]) + bytes([len(data) // 2 % 256]) + data)
        if number % 2 == 0 or dialect == "bounds":
            (builtin / name).write_bytes(data)
        # Set, chunk size, and the text: all of it, or the part between two places.
        if number % 2 == 1 or dialect == "bounds":
            edges = (0, 255) if number % 4 == 1 else (number * 7 % 128, 128 + number * 11 % 128)
            (escape / name).write_bytes(bytes([number % 20, number % 5, *edges]) + data)
        inputs.setdefault(dialect, []).append(data)
    # There, bytes are choices: these make long calls, one or two for each dialect.
    for number in range(96):
        data = bytes((number * 31 + at * at * 7 + at * (number + 3)) % 256 for at in range(40 + number))
        (encode / f"choices--{number}").write_bytes(bytes([number]) + data)
    for number, text in enumerate(ESCAPES):
        (escape / f"seam--{number}").write_bytes(bytes([number % 3, 1, 85, 170]) + text.encode())
    ids = order()
    for index, dialect in enumerate(ids):
        text = bare((BUILTIN / f"{dialect}.toml").read_text(encoding="utf-8")).encode()
        stream = inputs.get(dialect, inputs["tam"])[1]
        renamed = text.replace(f'id = "{dialect}"'.encode(), b'id = "mine"').replace(b"group = ", b"# ")
        (user / f"whole--{dialect}").write_bytes(b"\0" + text + b"\0\x03" + stream)
        if dialect != "vcp":
            (user / f"beside--{dialect}").write_bytes(b"\1" + renamed + b"\0\x47" + stream)
        for number, patch in enumerate(PATCHES.get(dialect, [])):
            mode = bytes([len(ids) + index])
            (user / f"patched--{dialect}-{number}").write_bytes(mode + patch.encode() + b"\0\x84" + stream)
    for name, bodies in (("json", JSON_BODIES), ("pythonic", PYTHON_BODIES), ("tagged", TEXT_BODIES)):
        folder = fresh(name)
        for number in range(3 * len(bodies)):
            header = list(HEADERS[number % len(HEADERS)])
            # A number coprime to the number of bodies, so that frames and bodies are combined in many ways.
            header[0] = number * 7 % 256
            (folder / f"body--{number}").write_bytes(bytes(header) + bodies[number % len(bodies)].encode())
    composed = fresh("composed")
    for number in range(128):
        acts = bytes((number * 37 + at * at * 11 + at * (number + 5)) % 256 for at in range(6 + number % 40))
        header = list(HEADERS[number % len(HEADERS)])
        header[0] = number * 2 % 256
        (composed / f"acts--{number}").write_bytes(bytes(header) + acts)
    source, tools, wire, gateway = fresh("source"), fresh("tools"), fresh("wire"), fresh("gateway")
    for number in range(14):
        which, body = RESPONSES[number % len(RESPONSES)]
        (source / f"body--{number}").write_bytes(bytes([which, number * 5]) + body.encode())
    for number in range(10):
        listed, arguments = TOOLS[number % len(TOOLS)]
        (tools / f"list--{number}").write_bytes(bytes([number]) + json.dumps(listed).encode() + b"\0" + json.dumps(arguments).encode())
    for number in range(10):
        (wire / f"parts--{number}").write_bytes("\0".join(WIRES[number % 2][number % 3 :]).encode())
    for number in range(12):
        which, body = REQUESTS[number % len(REQUESTS)]
        (gateway / f"request--{number}").write_bytes(bytes([which + number // 4 * 4]) + json.dumps(body).encode())
    size = sum(path.stat().st_size for path in CORPUS.rglob("*") if path.is_file())
    count = sum(1 for path in CORPUS.rglob("*") if path.is_file())
    print(f"{count} seeds, {size} bytes")


if __name__ == "__main__":
    main()
