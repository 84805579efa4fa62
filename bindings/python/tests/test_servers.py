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
    VOCAB = {"<think>": 1, "</think>": 2, "<|im_start|>": 3, "<tool_call>": 4}

    def get_vocab(self):
        return self.VOCAB

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


def server_like(vllm, name, text, size=None, start=None):
    """Reasoning, content and calls of an output with both parsers of one name, as vLLM drives them: streamed, or at once."""
    reader, parser = (registered(vllm, which)[name](Tokenizer()) for which in ("ReasoningParserManager", "ToolParserManager"))
    reader._start = start
    if size is None:
        reasoning, rest = reader.extract_reasoning(text, request())
        found = parser.extract_tool_calls(rest or "", request())
        calls = [(call.function.name, json.loads(call.function.arguments)) for call in found.tool_calls]
        return reasoning or "", found.content or "", calls
    reasoning, content, calls, ended = "", "", {}, False

    def take(message):
        nonlocal content
        content += (message and message.content) or ""
        for piece in message.tool_calls if message else ():
            call = calls.setdefault(piece.index, ["", ""])
            call[0] += piece.function.name or ""
            call[1] += piece.function.arguments or ""

    for piece in [text[at : at + size] for at in range(0, len(text), size)]:
        if not ended:
            message = reader.extract_reasoning_streaming("", "", piece, [], [], [])
            reasoning += (message and message.reasoning) or ""
            piece = (message and message.content) or ""
            if not reader.has_engine_confirmed_reasoning_end():
                content += piece
                continue
            ended = True
            rest = reader.finish_streaming()
            piece += (rest and rest.content) or ""
        take(parser.extract_tool_calls_streaming("", "", piece, [], [], [], request()))
    if not ended:
        rest = reader.finish_streaming()
        reasoning += (rest and rest.reasoning) or ""
        content += (rest and rest.content) or ""
    take(parser.finish_streaming())
    return reasoning, content, [(name, json.loads(arguments)) for name, arguments in calls.values()]


def outputs_with_thoughts(opener, closer, call):
    """Outputs, and whether the prompt has opened the thought."""
    yield f"{opener}hm\n{call}", None
    yield f"{opener}hm\n{call}{closer}Hi", None
    yield f"{opener}hm\n{call}\n{call}", None
    yield f"{opener}hm{closer}\n\n{call}", None
    yield f"{opener}嗯{closer}好 {call} bye", None
    yield call, None
    yield f"Hi\n{call}\nbye", None
    yield f"{opener}cut o", None
    if opener:
        yield f"hm\n{call}", "reasoning"
        yield f"hm{closer}Hi {call}", "reasoning"
        yield f"{opener}hm{closer}{call}", "reasoning"


def test_both_parsers_read_what_the_engine_reads(vllm):
    """A call ends an open thought where the dialect says so, with both flags, streamed and at once."""
    ended = {}
    for name, reader in registered(vllm, "ReasoningParserManager").items():
        if not name.startswith("toolglot") or name.startswith("toolglot_reasoning"):
            continue
        engine, markers = reader.thoughts.engine(), reader.dialect
        own = reader.thoughts.calls[-1] if reader.thoughts.calls else markers.id
        try:
            call = tg.encode(("f", {"a": "x"}), "hermes" if own == "default" else own)
        except tg.ToolglotError:
            continue
        opener, closer = next(iter(markers.reasoning_openers), ""), next(iter(markers.reasoning_closers), "")
        if markers.id == "gemma4":
            opener += "thought\n"
        for text, start in outputs_with_thoughts(opener, closer, call):
            turn = engine.parse(text, start=start)
            # Blanks behind a thought are content, whoever strips them.
            want = turn.reasoning, turn.text, [(call.name, call.arguments) for call in turn.calls if not call.recovered]
            for size in (None, 1, 3, len(text)):
                assert server_like(vllm, name, text, size, start) == want, (name, text, size)
            ended.setdefault(name, turn.reasoning == "hm\n" and len(turn.calls) == 1)
    assert len(ended) > 60
    for name in ("", "_qwen3_coder", "_qwen3_xml", "_kimi_k2", "_glm45", "_gemma4", "_hermes", "_granite4", "_minimax_m2"):
        assert ended[f"toolglot{name}"], name
    assert not ended["toolglot_vcp"]


def test_reasoning_has_the_rules_of_its_dialect(vllm):
    think, answer = "想", "答"
    for name in ("toolglot_hy_v3", "toolglot_hy_v4", "toolglot_reasoning_hy_v4"):
        parser = registered(vllm, "ReasoningParserManager")[name]
        for suffix in ("", ":opensource", ":9f2c"):
            text = f"<think{suffix}>{think}</think{suffix}>{answer}"
            assert parser(Tokenizer()).extract_reasoning(text, request()) == (think, answer), (name, text)
            made = parser(Tokenizer())
            found = [made.extract_reasoning_streaming("", "", piece, [], [], []) for piece in text]
            assert "".join(one.reasoning or "" for one in found if one) == think
            assert "".join(one.content or "" for one in found if one) == answer
            assert made.has_engine_confirmed_reasoning_end()
    # Markers before which a thought ends without a closer.
    make = registered(vllm, "ReasoningParserManager")["toolglot_command_r7b"]
    found = make(Tokenizer()).extract_reasoning("<|START_THINKING|>hm<|START_RESPONSE|>Hi", request())
    assert found[0] == "hm" and found[1].endswith("Hi")
    make = registered(vllm, "ReasoningParserManager")["toolglot_harmony"]
    text = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hi"
    assert make(Tokenizer()).extract_reasoning(text, request()) == ("hm", "Hi")


def test_tokens_of_an_interrupted_thought(vllm):
    parser = registered(vllm, "ReasoningParserManager")["toolglot_hermes"](Tokenizer())
    # The last turn decides, and the marker of a call ends nothing but an open thought.
    ended = {(1, 7): False, (1, 7, 2): True, (1, 7, 4): True, (4, 7): False, (3, 1, 7, 2, 7, 3): False, (1, 4, 7, 3, 1): False}
    assert {ids: parser.is_reasoning_end(ids) for ids in ended} == ended
    assert parser.is_reasoning_end_streaming([1, 7, 4], [4]) and not parser.is_reasoning_end_streaming([7, 4], [4])
    assert parser.extract_content_ids([1, 7, 4, 8]) == [4, 8] and parser.extract_content_ids([1, 7, 2, 4, 8]) == [4, 8]
    assert parser.count_reasoning_tokens([1, 7, 7, 4, 8, 2]) == 2
    parser.set_prompt_token_ids([3, 1, 7, 4, 8, 3])
    assert parser.extract_reasoning("Hi", request()) == (None, "Hi")
    parser.set_prompt_token_ids([3, 1, 7, 2, 8, 3, 1])
    assert parser.extract_reasoning("hm</think>Hi", request()) == ("hm", "Hi")
    # Other dialects keep calls in their thoughts.
    parser = registered(vllm, "ReasoningParserManager")["toolglot_hunyuan_a13b"](Tokenizer())
    assert not parser.is_reasoning_end([1, 7, 4])


def test_turn_openers():
    from toolglot import _servers

    tomllib = pytest.importorskip("tomllib")
    found = 0
    for dialect in tg.dialects():
        turn = tomllib.loads(tg.dialect_toml(dialect.id)).get("turn", [])
        assert list(_servers.Thoughts(dialect).turn_openers()) == turn, dialect.id
        found += bool(turn)
    assert found > 40


SLIP = '<tool_call>{"name":"rm","arguments":{"path":"/"},"dry_run":true}</tool_call>'
WITHHELD = [{"name": "rm", "kinds": ["extra_key"], "span": [11, 64]}]


def logged(caplog):
    found = [record.getMessage() for record in caplog.records if record.name == "toolglot"]
    caplog.clear()
    return found


def test_vllm_tells_what_is_withheld(vllm, caplog):
    make = registered(vllm, "ToolParserManager")["toolglot_hermes"]
    said = ["the model's call of rm is withheld: extra_key"]
    for size in (1, 5, len(SLIP)):
        parser = make(Tokenizer())
        pieces = [SLIP[at : at + size] for at in range(0, len(SLIP), size)]
        messages = [parser.extract_tool_calls_streaming("", "", piece, [], [], [], request()) for piece in pieces]
        last = parser.finish_streaming()
        arguments = "".join(piece.function.arguments for message in messages if message for piece in message.tool_calls)
        assert not arguments.endswith("}")
        assert last.toolglot == {"void": [0], "withheld": WITHHELD, "dropped": []}
        assert [(piece.index, piece.function.arguments, piece.toolglot) for piece in last.tool_calls] == [(0, "", last.toolglot)]
        assert logged(caplog) == said
    assert make(Tokenizer()).extract_tool_calls(SLIP, request()).tool_calls == []
    assert logged(caplog) == said
    # Clients take pieces of the last call only.
    parser = make(Tokenizer())
    parser.extract_tool_calls_streaming("", "", SLIP + CALL, [], [], [], request())
    assert [(piece.index, piece.toolglot["void"]) for piece in parser.finish_streaming().tool_calls] == [(1, [0])]
    assert logged(caplog) == said
    # A call that is sent only when it is final is never sent.
    held = vllm.register("held", dialects="hermes", calls="close")(Tokenizer())
    messages = [held.extract_tool_calls_streaming("", "", piece, [], [], [], request()) for piece in SLIP]
    last = held.finish_streaming()
    assert not any(message.tool_calls for message in messages if message)
    assert last.toolglot == {"withheld": WITHHELD, "dropped": []} and not last.tool_calls and logged(caplog) == said
    with pytest.raises(ValueError):
        vllm.register("other", dialects="hermes", calls="often")
    # Nothing is told of a good output, nor where recovered calls are delivered.
    assert make(Tokenizer()).extract_tool_calls(CALL, request()).tools_called
    all_of_them = vllm.register("all_of_them", dialects="hermes", recovered=True)
    assert all_of_them(Tokenizer()).extract_tool_calls(SLIP, request()).tools_called
    assert logged(caplog) == []
    make(Tokenizer()).extract_tool_calls('<tool_call>{"name": "rm", "arg', request())
    assert len(logged(caplog)) == 1


def test_sglang_tells_what_is_withheld(sglang, caplog):
    make = servers.FunctionCallParser.ToolCallParserEnum["toolglot_hermes"]
    detector = make()
    for piece in SLIP:
        detector.parse_streaming_increment(piece, [])
    assert detector.finish([]).calls == []
    assert logged(caplog) == ["the model's call of rm is withheld: extra_key"]
    assert make().detect_and_parse(SLIP, []).calls == []
    assert logged(caplog) == ["the model's call of rm is withheld: extra_key"]
    held = sglang.register("held", dialects="hermes", calls="close")()
    assert not any(held.parse_streaming_increment(piece, []).calls for piece in SLIP) and not held.finish([]).calls


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
