"""The plug-ins for vLLM and SGLang, against the stored signatures of their interfaces.

`ci/plugins.sh` runs them in the servers' own code.
"""

import importlib
import inspect
import json
import re
from types import SimpleNamespace

import pytest
import servers
import toolglot as tg

CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]


@pytest.fixture(scope="module")
def vllm():
    servers.install("vllm")
    return importlib.import_module("toolglot.vllm")


@pytest.fixture(scope="module")
def sglang():
    servers.install("sglang")
    module = importlib.import_module("toolglot.sglang")
    module.setup()
    return module


def manager(which):
    module = "vllm.tool_parsers.abstract_tool_parser" if which.startswith("Tool") else "vllm.reasoning.abs_reasoning_parsers"
    return getattr(importlib.import_module(module), which)


def registered(vllm, which):
    return manager(which).found


def fits(cls, members):
    """Every method of ours that the interface has accepts what the interface's method accepts."""
    checked = 0
    for name, shape in members.items():
        ours = cls.__dict__.get(name)
        if isinstance(shape, list) and inspect.isfunction(ours):
            parameters = inspect.signature(ours).parameters
            for wanted in shape:
                if not wanted.startswith("*"):
                    assert wanted.rstrip("=") in parameters, (cls, name, wanted)
            required = [p.name for p in parameters.values() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
            assert required == [w for w in shape if w in required], (cls, name)
            checked += 1
    return checked


def test_signatures(vllm, sglang):
    of = {full.rpartition(".")[2]: members for server in ("vllm", "sglang") for full, members in servers.classes(server).items()}
    assert fits(vllm.ToolglotToolParser, of["ToolParser"]) == 4
    assert fits(vllm.ToolglotReasoningParser, of["ReasoningParser"]) == 10
    assert fits(sglang.ToolglotDetector, of["BaseFormatDetector"]) == 7
    assert of["ToolParser"]["engine_based_streaming"] == "bool"


def test_every_dialect_has_a_name(vllm, sglang):
    tools = registered(vllm, "ToolParserManager")
    reasoning = registered(vllm, "ReasoningParserManager")
    detectors = servers.FunctionCallParser.ToolCallParserEnum
    for dialect in tg.dialects():
        name = "toolglot_" + dialect.id.replace("-", "_").replace(".", "_")
        if not dialect.id.startswith("reasoning-"):
            assert tools[name].options == detectors[name].options == {"dialects": dialect.id}
        else:
            assert reasoning[name].dialect.id == dialect.id
    assert {"toolglot", "toolglot_qwen25", "toolglot_qwen3_xml"} <= tools.keys()
    # There is a reasoning parser for every name, and it reads what the dialect itself takes for reasoning.
    assert tools.keys() <= reasoning.keys()
    for dialect in tg.dialects():
        name = "toolglot_" + dialect.id.replace("-", "_").replace(".", "_")
        if dialect.reasoning_openers and dialect.reasoning_closers:
            opener, closer = dialect.reasoning_openers[0], dialect.reasoning_closers[0]
            # The rest of the opener's line may belong to the opener.
            found = reasoning[name](Tokenizer()).extract_reasoning(f"{opener}\nhm\n{closer}\nHi", None)
            assert found[0].strip() in ("hm", "thought\nhm") and found[1].strip() == "Hi", dialect.id
    names = importlib.import_module("sglang.srt.function_call.parser_names").TOOL_CALL_PARSER_NAMES
    assert set(names) == {"hermes", *detectors}


def test_vllm_finds_the_parsers(vllm):
    from importlib.metadata import entry_points

    from toolglot import _servers

    found = [entry for entry in entry_points(group="vllm.general_plugins") if entry.name == "toolglot"]
    for entry in found[:1]:
        assert entry.load() is _servers.vllm_setup
    _servers.vllm_setup()
    for which, kind in (("ToolParserManager", "Tool"), ("ReasoningParserManager", "Reasoning")):
        lazy, made = manager(which).lazy, registered(vllm, which)
        assert lazy.keys() == {name for name in made if name.startswith("toolglot")}
        for name, (module, cls) in lazy.items():
            assert getattr(importlib.import_module(module), cls) is made[name], (kind, name)


def test_moved_modules():
    from toolglot import _servers

    assert _servers.first("x", "no.such.module", "json.no_such", "json").__name__ == "json"
    with pytest.raises(ImportError, match="this vLLM has none of json.no.such, nor.that"):
        _servers.first("vLLM", "json.no.such", "nor.that")
    with pytest.raises(ModuleNotFoundError, match="vLLM is not installed here"):
        _servers.first("vLLM", "no.such")


def test_vllm_without_a_request(vllm):
    make = registered(vllm, "ToolParserManager")["toolglot_hermes"]
    parser = make(Tokenizer())
    assert parser.adjust_request(None) is None
    assert len(parser.extract_tool_calls(CALL, None).tool_calls) == 1
    messages = [make(Tokenizer()).extract_tool_calls_streaming("", "", CALL, [], [], [], None)]
    assert messages[0].tool_calls[0].function.name == "f"
    bare = SimpleNamespace()
    assert len(make(Tokenizer()).extract_tool_calls(CALL, bare).tool_calls) == 1


def test_sglang_structural_tags(sglang):
    """A call written into a structural tag is read as that call; a dialect without tags says so."""
    tagged = 0
    for dialect in tg.dialects():
        name = "toolglot_" + dialect.id.replace("-", "_").replace(".", "_")
        if dialect.id.startswith("reasoning-"):
            continue
        detector = servers.FunctionCallParser.ToolCallParserEnum[name]()
        if not detector.supports_structural_tag():
            with pytest.raises(NotImplementedError, match="hold JSON"):
                detector.structure_info()("f")
            continue
        tagged += 1
        for tool, arguments in (("f", '{"a": 1}'), ("get_weather", '{"city": "Leith", "b": {"c": [1, null]}}')):
            info = detector.structure_info()(tool)
            assert info.begin.startswith(info.trigger) and info.trigger
            turn = tg.Engine(dialect.id).parse(info.begin + arguments + info.end)
            assert [(call.name, call.arguments, call.grade) for call in turn.calls] == [(tool, json.loads(arguments), "complete")]
    assert tagged >= 15
    assert not servers.FunctionCallParser.ToolCallParserEnum["toolglot"]().supports_structural_tag()


class Tokenizer:
    def get_vocab(self):
        return {"<think>": 1, "</think>": 2}

    def encode(self, text, add_special_tokens=True):
        return [ord(character) for character in text]


def request(tools=TOOLS, choice="auto"):
    return SimpleNamespace(tools=tools, tool_choice=choice, skip_special_tokens=True)


def test_vllm_tool_parser(vllm):
    parser = registered(vllm, "ToolParserManager")["toolglot_hermes"](Tokenizer(), None)
    assert parser.engine_based_streaming
    assert parser.adjust_request(request()).skip_special_tokens is False
    assert parser.adjust_request(request(choice="none")).skip_special_tokens is True
    content, calls = "", {}
    text = f"Hi {CALL}{CALL} bye <tool"
    messages = [parser.extract_tool_calls_streaming("", "", piece, [], [], [], request()) for piece in text]
    for message in [*messages, parser.finish_streaming(), parser.finish_streaming()]:
        if message is not None:
            content += message.content or ""
            for piece in message.tool_calls:
                call = calls.setdefault(piece.index, ["", ""])
                call[0] += piece.function.name or ""
                call[1] += piece.function.arguments or ""
                assert (piece.type == "function") == bool(piece.id) == bool(piece.function.name)
    assert content == "Hi  bye <tool" and parser.prev_tool_call_arr == []
    assert calls == {0: ["f", '{"a": 1}'], 1: ["f", '{"a": 1}']}
    found = parser.extract_tool_calls(text, request())
    assert found.tools_called and found.content == content
    assert [(call.function.name, call.function.arguments) for call in found.tool_calls] == [("f", '{"a": 1}')] * 2
    assert not parser.extract_tool_calls("Hi", request()).tools_called


def test_vllm_recovered_calls(vllm):
    mended = "<ACTION><go/> and then </ACTION>"
    assert tg.Engine("action").parse(mended).calls[0].recovered
    make = registered(vllm, "ToolParserManager")["toolglot_action"]
    assert make(Tokenizer()).extract_tool_calls(mended, request()).tool_calls == []
    mine = vllm.register("mine", dialects="action", recovered=True)
    assert len(mine(Tokenizer()).extract_tool_calls(mended, request()).tool_calls) == 1
    assert mine(Tokenizer()).extract_tool_calls_streaming("", "", mended, [], [], [], request()).tool_calls
    assert registered(vllm, "ToolParserManager")["mine"] is mine
    with pytest.raises(tg.DialectError):
        vllm.register("other", dialects="no-such")


def test_vllm_reasoning_parser(vllm):
    make = registered(vllm, "ReasoningParserManager")["toolglot_reasoning_think"]
    parser = make(Tokenizer())
    assert (parser.reasoning_start_str, parser.reasoning_end_str) == ("<think>", "</think>")
    assert [parser.is_reasoning_end(ids) for ids in ([7], [1, 7], [1, 7, 2, 7], [1, 2, 1, 7])] == [False, False, True, False]
    assert parser.is_reasoning_end_streaming([1, 7, 2], [2]) and not parser.is_reasoning_end_streaming([1, 7, 2, 7], [7])
    assert parser.extract_content_ids([1, 7, 2, 8, 9]) == [8, 9] and parser.extract_content_ids([1, 7]) == []
    assert [parser.count_reasoning_tokens(ids) for ids in ([1, 7, 7, 2, 8], [8, 8], [1, 7], [7, 2, 8])] == [2, 0, 1, 1]
    assert parser.extract_reasoning(f"<think>hm</think>{CALL}", request()) == ("hm", CALL)
    parser.set_prompt_token_ids([7, 1])
    assert parser.extract_reasoning("hm</think>Hi", request()) == ("hm", "Hi")
    parser = make(Tokenizer())
    reasoning = content = ""
    for piece in "<think>hm":
        message = parser.extract_reasoning_streaming("", "", piece, [], [], [])
        reasoning += message.reasoning if message and message.reasoning else ""
    assert reasoning == "hm" and not parser.has_engine_confirmed_reasoning_end()
    message = parser.extract_reasoning_streaming("", "", "!</think>Hi <", [], [], [])
    assert (message.reasoning, message.content) == ("!", "Hi ") or (message.reasoning, message.content) == ("!", "Hi <")
    assert parser.has_engine_confirmed_reasoning_end()
    rest = parser.finish_streaming()
    content = message.content + ((rest.content if rest else None) or "")
    assert content == "Hi <"


def test_sglang_detector(sglang):
    make = servers.FunctionCallParser.ToolCallParserEnum["toolglot_hermes"]
    tools = [SimpleNamespace(type="function", function=SimpleNamespace(name="f", parameters={"type": "object"}))]
    text = f"Hi {CALL} bye <tool"
    detector = make()
    results = [detector.parse_streaming_increment(piece, tools) for piece in text] + [detector.finish(tools)]
    assert "".join(result.normal_text for result in results) == "Hi  bye <tool"
    items = [item for result in results for item in result.calls]
    assert [item.name for item in items if item.name] == ["f"] and {item.tool_index for item in items} == {0}
    assert json.loads("".join(item.parameters for item in items)) == {"a": 1}
    assert make().finish(tools).normal_text == ""
    whole = make().detect_and_parse(text, tools)
    assert (whole.normal_text, [(item.tool_index, item.name, item.parameters) for item in whole.calls]) == (
        "Hi  bye <tool",
        [(0, "f", '{"a": 1}')],
    )
    assert make().has_tool_call(text) and not make().has_tool_call("Hi")
    mine = sglang.register("mine", toml=tg.dialect_toml("hermes"))
    assert servers.FunctionCallParser.ToolCallParserEnum["mine"] is mine


def test_examples_of_the_manual(vllm, sglang, root):
    page = (root / "docs" / "PYTHON.md").read_text(encoding="utf-8")
    fences = re.findall(r"^```python\n(import toolglot\.(?:vllm|sglang)\n.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(fences) == 2
    for fence in fences:
        scope = {}
        exec(fence, scope)
        scope.get("setup", lambda: None)()
    parser = registered(vllm, "ToolParserManager")["house"]
    assert parser.recovered and parser.options == {"dialects": ["vcp", "tool-call-xml"]}
    assert servers.FunctionCallParser.ToolCallParserEnum["house"].options == parser.options
    for name in re.findall(r"--tool-call-parser (toolglot\w+)", page):
        assert name in registered(vllm, "ToolParserManager") and name in servers.FunctionCallParser.ToolCallParserEnum
    for name in re.findall(r"--reasoning-parser (toolglot\w+)", page):
        assert name in registered(vllm, "ReasoningParserManager")
