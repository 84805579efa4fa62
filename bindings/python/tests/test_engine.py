"""Engines: what they are made of, equality, pickles, errors."""

import copy
import inspect
import pickle
import subprocess
import sys

import pytest
import toolglot as tg

TOOLS = [{"name": "f", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}]
CALL = '<tool_call name="f"><param name="n">7</param></tool_call>'
FILE = tg.dialect_toml("vcp").replace('id = "vcp"', 'id = "mine"', 1)


def test_default_set():
    engine = tg.Engine()
    assert engine == tg.Engine("default") == tg.Engine([]) == tg.Engine("auto")
    assert engine.dialects == [dialect.id for dialect in tg.dialects(engine)]
    assert "tool-call-xml" in engine.dialects and "json-bare" not in engine.dialects
    assert engine.bound > 0
    assert engine.tools == [] and engine.limits == tg.Limits()
    assert repr(tg.Engine(["vcp", "hermes"])) == "<toolglot.Engine of vcp, hermes>"


def test_equality_hash_and_config():
    one = tg.Engine(["vcp"], tools=TOOLS, switches=["vcp.fuzzy"], limits={"max_calls": 3})
    two = tg.Engine("vcp", tools=TOOLS, switches=("vcp.fuzzy", "vcp.fuzzy"), limits=tg.Limits(max_calls=3))
    assert one == two and hash(one) == hash(two) and one.config == two.config
    assert one != tg.Engine("vcp") and one != "vcp"
    assert len({one, two, tg.Engine("vcp")}) == 2


def test_pickle_and_copy():
    engine = tg.Engine(toml={"mine.toml": FILE}, tools=TOOLS, limits={"max_calls": 2}, unclosed="text")
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        loaded = pickle.loads(pickle.dumps(engine, protocol))
        assert loaded == engine and loaded.dialects == ["mine"] and loaded.limits.max_calls == 2
    assert copy.copy(engine) is engine and copy.deepcopy(engine) is engine


def test_frozen():
    engine = tg.Engine("vcp")
    with pytest.raises(AttributeError):
        engine.config = ""
    with pytest.raises(AttributeError):
        engine.other = 1


def test_tools_type_values():
    for tools in (TOOLS, tuple(TOOLS), iter(TOOLS), '[{"type": "function", "function": {"name": "f", "parameters": '
                  '{"properties": {"n": {"type": "integer"}}}}}]'):
        engine = tg.Engine("tool-call-xml", tools=tools)
        assert engine.tools == ["f"]
        assert engine.parse(CALL).calls[0].arguments == {"n": 7}
    engine = tg.Engine("tool-call-xml")
    assert engine.parse(CALL).calls[0].arguments == {"n": "7"}
    assert engine.parse(CALL, tools=TOOLS).calls[0].arguments == {"n": 7}
    stream = engine.stream(tools=TOOLS)
    assert [e.arguments for e in stream.feed(CALL) if isinstance(e, tg.CallClose)] == [{"n": 7}]


def test_tools_as_models():
    class Model:
        def model_dump(self, exclude_none):
            assert exclude_none
            return TOOLS[0]

    assert tg.Engine(tools=[Model()]).tools == ["f"]


def test_own_dialect_beside_built_in_ones():
    engine = tg.Engine("hermes", toml=FILE.replace("mine", "my-own"))
    assert sorted(engine.dialects) == ["hermes", "my-own"]
    assert tg.Engine(["hermes", "default"]).dialects[0] == "hermes"


def test_switches():
    assert tg.Engine("vcp", switches=["vcp.fuzzy"]) != tg.Engine("vcp")
    assert tg.Engine("hy-v4", switches=["hy-v4.suffix=:7b2e"]).dialects == ["hy-v4"]


def test_replace():
    engine = tg.Engine(["vcp", "hermes"], switches=["vcp.fuzzy"], limits={"max_calls": 9}, tools=TOOLS, fence="allow")
    assert engine.replace() == engine
    other = engine.replace(limits={"max_calls": 1}, tools=None)
    assert other.limits.max_calls == 1 and other.tools == [] and other.dialects == engine.dialects
    own = tg.Engine(toml={"x": FILE})
    assert own.replace(start="text").dialects == ["mine"]
    with pytest.raises(TypeError, match="replace.. changes options, not dialects"):
        engine.replace(dialects="vcp")


# A value of each option that is not its default.
OTHER = {
    "tools": TOOLS,
    "limits": {"max_calls": 3},
    "retain": "none",
    "prefer": "both",
    "reasoning": "off",
    "calls_in_reasoning": True,
    "trusted_only": True,
    "fence": "allow",
    "unclosed": "salvage",
    "untyped": "json",
    "broken": "drop",
    "start": "text",
    "unknown_tool": "drop",
    "tool_choice": {"type": "function", "function": {"name": "f"}},
}


@pytest.mark.parametrize("option", OTHER)
def test_replace_keeps_each_option(option):
    engine = tg.Engine("hermes", **{option: OTHER[option]})
    assert engine != tg.Engine("hermes") and engine.replace() == engine
    other = "fence" if option == "start" else "start"
    assert engine.replace(**{other: OTHER[other]}) == tg.Engine("hermes", **{option: OTHER[option], other: OTHER[other]})
    assert pickle.loads(pickle.dumps(engine)) == engine


def test_each_option_is_tried():
    assert {"dialects", "toml", "switches", *OTHER} == set(inspect.signature(tg.Engine).parameters)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"dialects": "vpc"}, tg.DialectError, r"there is no dialect vpc \(did you mean vcp\?\)"),
        ({"dialects": 3}, TypeError, "dialects: a string or several are needed, not int"),
        ({"dialects": ["vcp", 3]}, TypeError, "dialects: a string or several are needed, not int"),
        ({"dialects": b"vcp"}, TypeError, "dialects: a string or several are needed, not int"),
        ({"dialects": ["tam", "tam2"]}, tg.DialectError, "dialects tam"),
        ({"toml": "id = 3"}, tg.DialectError, r"toml\[0\]: .*line 1"),
        ({"toml": {"mine.toml": "x"}}, tg.DialectError, "mine.toml"),
        ({"toml": 3}, TypeError, "toml: a string or several"),
        ({"switches": ["fuzzy"]}, ValueError, "'fuzzy' is not a switch; write 'DIALECT.NAME'"),
        ({"dialects": "vcp", "switches": ["vcp.no"]}, tg.DialectError, "there is no such switch"),
        ({"switches": ["json-bare.x"]}, tg.DialectError, "not in the set"),
        ({"tools": 3}, TypeError, "tools: a list of tools or its JSON text is needed, not int"),
        ({"tools": {"name": "f"}}, TypeError, "not dict"),
        ({"tools": "["}, tg.ToolsError, "the tools are not JSON"),
        ({"tools": "3"}, tg.ToolsError, "."),
        ({"tools": [{"name": "f", "x": object()}]}, TypeError, "tools: object cannot be expressed in JSON"),
        ({"limits": {"max_x": 1}}, TypeError, "max_x"),
        ({"limits": {"max_calls": -1}}, ValueError, "max_calls: -1 is not a number from 0 to 4294967295"),
        ({"limits": {"max_calls": 1 << 32}}, ValueError, "max_calls: 4294967296 is not a number"),
        ({"limits": {"max_calls": "1"}}, TypeError, "max_calls"),
        ({"limits": 3}, TypeError, "limits: Limits or a mapping of names to numbers is needed, not int"),
        ({"retain": "all"}, ValueError, "retain='all': it is one of 'block', 'none'"),
        ({"prefer": "x"}, ValueError, "prefer='x': it is one of 'text', 'native', 'both'"),
        ({"reasoning": "x"}, ValueError, "reasoning='x'"),
        ({"fence": "x"}, ValueError, "fence='x'"),
        ({"unclosed": "x"}, ValueError, "unclosed='x': it is one of 'drop', 'text', 'salvage'"),
        ({"start": "x"}, ValueError, "start='x': it is one of 'dialect', 'text', 'reasoning'"),
        ({"reasoning": 3}, TypeError, "reasoning"),
        ({"nothing": 3}, TypeError, "nothing"),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        tg.Engine(**arguments)


def test_bad_configs():
    with pytest.raises(ValueError, match="not a config of an Engine"):
        tg.Engine._from_config("{}")


def test_exceptions_have_one_base_class():
    for name in tg._errors.__all__:
        error = getattr(tg, name)
        assert issubclass(error, tg.ToolglotError) and error.__module__ == "toolglot" and error.__doc__
    assert issubclass(tg.DialectError, ValueError)
    assert issubclass(tg.InternalError, RuntimeError)
    assert not issubclass(tg.BusyError, ValueError)


def test_limits():
    limits = tg.Limits(max_calls=2)
    assert limits == tg.Limits(max_calls=2) != tg.Limits()
    assert hash(limits) == hash(tg.Limits(max_calls=2))
    assert pickle.loads(pickle.dumps(limits)) == limits
    assert repr(limits).startswith("Limits(max_value=8388608, ")
    turn = tg.Engine("tool-call-xml", limits={"max_calls": 2}).parse(CALL * 3)
    assert len(turn.calls) == 2 and [issue.kind for issue in turn.issues] == ["limit_calls"]


def test_dialects():
    every = {dialect.id: dialect for dialect in tg.dialects()}
    assert len(every) > 90
    assert every["hy-v4"].switches == [("suffix", True)] or ("suffix", True) in every["hy-v4"].switches
    assert every["tool-call-xml"].openers and every["tool-call-xml"].in_default_set
    assert not every["json-bare"].in_default_set
    with pytest.raises(tg.DialectError):
        tg.dialect_toml("none")


def test_kinds():
    kinds = tg.issue_kinds()
    assert kinds[0] == (1, "unclosed_block", "error")
    assert len({code for code, _, _ in kinds}) == len(kinds)


def test_guarded_text_is_not_a_call_for_another_reader():
    engine = tg.Engine(["tool-call-xml"])
    split = '<tool_<tool_call name="f"></tool_call>call name="g"></tool_call>'
    plain, guarded = engine.parse(split), engine.parse(split, guard=True)
    assert [len(engine.parse(turn.text).calls) for turn in (plain, guarded)] == [1, 0]
    assert len(guarded.calls) == 1
    mention = "a < b, `<tool_call>` is a mention"
    assert engine.parse(mention, guard=True).text == mention


def test_a_parser_imports_next_to_nothing():
    program = """
import sys
before = set(sys.modules)
import toolglot
turn = toolglot.Engine("hermes").stream().feed("a <tool_call>")
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
from toolglot import *
print(all(name in globals() for name in toolglot.__all__), set(toolglot.__all__) <= set(dir(toolglot)))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (ran.stderr, ran.stdout) == ("", "toolglot\nTrue True\n")
    with pytest.raises(AttributeError, match="module 'toolglot' has no attribute 'Streem'"):
        tg.Streem  # noqa: B018
