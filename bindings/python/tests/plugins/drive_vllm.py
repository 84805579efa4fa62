"""Runs the parsers of `toolglot.vllm` in vLLM's own drivers: drive_vllm.py FOLDER, the unpacked wheel."""

import json
import sys
import uuid
from types import SimpleNamespace

import stand_ins
import toolglot as tg
from outputs import TOOLS, Calls, outputs

REAL = [
    "vllm.entrypoints.generate.base.protocol",
    "vllm.entrypoints.serve.engine.protocol",
    "vllm.parser.abstract_parser",
    "vllm.parser.parser_manager",
    "vllm.parser.utils",
    "vllm.reasoning.abs_reasoning_parsers",
    "vllm.tool_parsers.abstract_tool_parser",
    "vllm.tool_parsers.tool_strict_level",
    "vllm.tool_parsers.utils",
    "vllm.utils.collection_utils",
    "vllm.utils.import_utils",
]
stand_ins.install(sys.argv[1], "vllm", REAL)

import vllm.renderers.chat_utils as chat  # noqa: E402

# The function with which vLLM's protocol generates ids, and what it asks of a model's configuration.
chat.make_tool_call_id = lambda **_: f"chatcmpl-tool-{uuid.uuid4().hex}"
chat.get_tool_call_id_type = lambda config: "random"

import vllm.parser.response_template as template  # noqa: E402
from vllm.parser.parser_manager import ParserManager  # noqa: E402
from vllm.reasoning.abs_reasoning_parsers import ReasoningParserManager  # noqa: E402
from vllm.tool_parsers.abstract_tool_parser import ToolParserManager  # noqa: E402

import vllm.reasoning  # noqa: E402
import vllm.tool_parsers  # noqa: E402

# Their packages are stand-ins here, since they only re-export these names.
vllm.tool_parsers.ToolParserManager = ToolParserManager
vllm.reasoning.ReasoningParserManager = ReasoningParserManager
template.response_template_parser_cls = lambda parser: None


class Tokenizer:
    """One token for each marker, and one for each other character."""

    MARKERS = {"<think>": 1, "</think>": 2}

    def get_vocab(self):
        return dict(self.MARKERS)

    def encode(self, text, add_special_tokens=False):
        for marker, token in self.MARKERS.items():
            text = text.replace(marker, chr(token))
        return [ord(character) for character in text]


def request(tools, choice="auto"):
    return SimpleNamespace(
        tools=tools, tool_choice=choice, include_reasoning=True, skip_special_tokens=True, structured_outputs=None,
        extract_structured_outputs=lambda: None, parallel_tool_calls=True,
    )


def parser(name, reasoning=None, tools=None):
    """Makes a parser as the server does for a request."""
    made = ParserManager.get_parser(tool_parser_name=name, reasoning_parser_name=reasoning, enable_auto_tools=True)
    return made(Tokenizer(), tools)


def stream(made, chunks, asked, prompt=(), told=None):
    """Does what the server's loop does. `told` gets the members `toolglot`."""
    content, reasoning, calls, seen = "", "", Calls(), 0
    for at, chunk in enumerate(chunks):
        ids = Tokenizer().encode(chunk)
        delta = made.parse_delta(chunk, ids, asked, prompt_token_ids=list(prompt), finished=at == len(chunks) - 1)
        seen = max(seen, len(made._stream_state.previous_text))
        if delta is None:
            continue
        content += delta.content or ""
        reasoning += delta.reasoning or ""
        if told is not None:
            sent = json.loads(delta.model_dump_json(exclude_unset=True))
            told += [one["toolglot"] for one in [sent, *sent.get("tool_calls", ())] if "toolglot" in one]
        for piece in delta.tool_calls:
            calls.take(piece.index, piece.function.name, piece.function.arguments, piece.id)
    return content, reasoning, calls, seen


def check(what, got, expected):
    if got != expected:
        raise AssertionError(f"{what}: {got!r} is not {expected!r}")


def tool_parsers():
    """Runs every output through `parse_delta`, chunked in several ways, and through `parse`."""
    count = calls = 0
    for output in outputs():
        name = "toolglot_" + output.dialect.replace("-", "_")
        asked = request(output.tools)
        for chunks in output.cuts():
            content, _, found, history = stream(parser(name, tools=None), chunks or [""], asked)
            check(f"{output.id}: content", content, output.content)
            check(f"{output.id}: calls", found.standing(), output.calls)
            check(f"{output.id}: ids", len({identity for _, _, identity in found.found}), len(found.found))
            check(f"{output.id}: history", history, 0)
            count += 1
        _, content, found = parser(name).parse(output.text, asked, enable_auto_tools=True)
        check(f"{output.id}: calls at once", [(call.name, call.arguments) for call in found or ()], output.calls)
        wanted = output.content if output.content.strip() or not output.calls else ""
        check(f"{output.id}: content at once", content or "", wanted)
        calls += len(output.calls)
    return count, calls


def reasoning_parsers():
    """Reasoning, then calls, with two parsers in succession."""
    call = '<tool_call>\n{"name": "f", "arguments": {"x": "</think>"}}\n</tool_call>'
    cases = [
        ("<think>", "", f"hm <tool_call></think>\n\nHi {call}", "hm <tool_call>", "\n\nHi "),
        ("", "", f"<think>hm</think>Hi {call}", "hm", "Hi "),
        ("", "", f"Hi {call}", "", "Hi "),
        ("", "", "<think>cut o", "cut o", ""),
        ("", "", f"<think>hm</think>{call}", "hm", ""),
        ("<think>off</think>", "", f"Hi {call}", "", "Hi "),
    ]
    for opened, _, text, reasoning, content in cases:
        prompt = Tokenizer().encode("User: hello " + opened)
        wanted = [("f", '{"x": "</think>"}')] if call in text else []
        for size in (1, 2, 3, 5, 7, 11, len(text)):
            chunks = [text[at : at + size] for at in range(0, len(text), size)]
            made = parser("toolglot_hermes", "toolglot_reasoning_think")
            got = stream(made, chunks, request(TOOLS), prompt)
            check(f"{opened}{text} by {size}", (got[0], got[1], got[2].standing(), got[3]), (content, reasoning, wanted, 0))
    return len(cases)


def interrupted_thoughts():
    """Both parsers of one name: a call ends an open thought where the dialect says so."""
    count = 0
    for dialect in ("hermes", "qwen3-coder", "kimi-k2", "glm45", "gemma4", "minimax-m2", "deepseek-v31"):
        name = "toolglot_" + dialect.replace("-", "_")
        engine = tg.Engine(dialect)
        found = tg.dialects(engine)[0]
        opener, closer = found.reasoning_openers[0], found.reasoning_closers[0]
        call = tg.encode(("f", {"x": "</think>"}), dialect)
        for text in (f"{opener}hm\n{call}", f"{opener}hm\n{call}{closer}Hi", f"{opener}hm{closer}Hi {call}", f"{opener}hm"):
            turn = engine.parse(text)
            calls = [(one.name, one.arguments) for one in turn.calls]
            for size in (1, 3, 7, len(text)):
                chunks = [text[at : at + size] for at in range(0, len(text), size)]
                content, reasoning, got, _ = stream(parser(name, name), chunks, request(TOOLS))
                got = [(tool, json.loads(arguments)) for tool, arguments in got.standing()]
                check(f"{name}: {text} by {size}", (reasoning, content, got), (turn.reasoning, turn.text, calls))
                count += 1
            reasoning, content, got = parser(name, name).parse(text, request(TOOLS), enable_auto_tools=True)
            got = [(one.name, json.loads(one.arguments)) for one in got or ()]
            check(f"{name}: {text} at once", (reasoning or "", (content or "").strip(), got), (turn.reasoning, turn.text.strip(), calls))
    return count


def withheld():
    """A call that was sent, and that turns out recovered, is told to the client, however the output ends."""
    text = '<tool_call>{"name":"rm","arguments":{"path":"/"},"dry_run":true}</tool_call>'
    for tail in ("", " bye"):
        for size in (1, 7, len(text + tail)):
            told = []
            chunks = [(text + tail)[at : at + size] for at in range(0, len(text + tail), size)]
            calls = stream(parser("toolglot_hermes"), chunks, request(TOOLS), told=told)[2]
            check("a call without its end", calls.standing(), [])
            check("what is withheld", [one["withheld"][0]["name"] for one in told[-1:]], ["rm"])


def main():
    ToolParserManager.import_tool_parser("toolglot.vllm")
    names = [name for name in ToolParserManager.list_registered() if name.startswith("toolglot")]
    others = [name for name in ReasoningParserManager.list_registered() if name.startswith("toolglot")]
    asked = parser("toolglot_hermes").adjust_request(request(TOOLS))
    check("special tokens", asked.skip_special_tokens, False)
    streams, calls = tool_parsers()
    cases = reasoning_parsers()
    both = interrupted_thoughts()
    withheld()
    print(f"vLLM: {len(names)} tool parsers and {len(others)} reasoning parsers registered; {streams} streams through "
          f"parse_delta with {calls} calls in them, {cases} outputs with reasoning, {both} streams through both parsers of a name: all as without a server, no history kept")


main()
