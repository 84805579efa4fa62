"""Event classes: fields, equality, hashes, pickles, matching, frozenness."""

import copy
import gc
import json
import pickle
import sys
import typing
import weakref

import pytest
import toolglot as tg

SAMPLES = [
    tg.Text("a", 0, 1, True),
    tg.Reasoning("a", 0, 1, True),
    tg.Protected("a", "note", 0, 1),
    tg.Raw(b"a", 0, 1),
    tg.BlockOpen("vcp", 0, 1),
    tg.CallNamed(0, 1, "f", True, 0, 1),
    tg.CallOpen(1, "f", "vcp", {"id": "x"}, False, 0, 1),
    tg.ArgDelta(1, '{"a"', 0, 1),
    tg.ParamOpen("a", 1, 0, 1),
    tg.ParamDelta(b"a\xff", 0, 1),
    tg.ParamClose(0, 1),
    tg.CallAbandoned(1, 0, 1),
    tg.CallClose(1, "f", '{"a":1}', ["duplicate_param"], 0, 1),
    tg.BlockClose(0, 1, b"raw"),
    tg.BlockAbandoned("drop", 0, 1, b"raw"),
    tg.Issue("unclosed_block", "error", "m", 0, 1, "vcp", 3, "f", "a", "b", "o"),
]
WHOLE = [*SAMPLES, tg.Call("f", '{"a":1}', 0, None, "vcp", {"id": "x"}, False, 0, 1)]


def test_every_kind_of_event_is_here():
    assert set(typing.get_args(tg.Event)) == {type(sample) for sample in SAMPLES}


@pytest.mark.parametrize("sample", WHOLE, ids=lambda sample: type(sample).__name__)
def test_values(sample):
    again = eval(repr(sample), vars(tg))
    assert again == sample and hash(again) == hash(sample) and again is not sample
    assert pickle.loads(pickle.dumps(sample)) == sample
    assert copy.copy(sample) == copy.deepcopy(sample) == sample
    assert sample != "x" and sample not in [other for other in WHOLE if other is not sample]
    assert type(sample).__module__ == "toolglot" and type(sample).__doc__
    for name in type(sample).__match_args__:
        getattr(sample, name)
        with pytest.raises(AttributeError):
            setattr(sample, name, None)
    with pytest.raises(AttributeError):
        sample.other = 1
    with pytest.raises(TypeError):
        type(sample)(None, None)


def test_differences():
    assert tg.Text("a", 0, 1) != tg.Text("a", 0, 2) and tg.Text("a", 0, 1) != tg.Reasoning("a", 0, 1)
    assert tg.Text("a") == tg.Text("a", 0, 0)


def test_match():
    seen = []
    with tg.Engine("tool-call-xml").stream() as stream:
        for event in stream.feed('Hi <tool_call name="f"><param name="a">1</param></tool_call>'):
            match event:
                case tg.Text(text, start, end):
                    seen.append((text, start, end))
                case tg.CallOpen(call, name):
                    seen.append((call, name))
                case tg.CallClose(call, name, {"a": value}, None):
                    seen.append((call, name, value))
    assert seen == [("Hi ", 0, 3), (0, "f"), (0, "f", "1")]


def test_arguments():
    close = tg.CallClose(0, "f", '{"a": 1.50, "b": [null, true], "a": 12345678901234567890}')
    assert close.arguments == {"a": 12345678901234567890, "b": [None, True]}
    assert close.arguments is close.arguments and close.complete
    assert list(tg.CallClose(0, "f", '{"b":1,"a":2}').arguments) == ["b", "a"]
    assert tg.CallClose(0, "f").arguments is None


def test_arguments_that_python_cannot_hold():
    deep = '{"a":' + "[" * 200_000 + "]" * 200_000 + "}"
    call = tg.CallClose(0, "f", deep)
    with pytest.raises(tg.LimitError, match="the arguments cannot become Python objects"):
        call.arguments
    assert call.arguments_json == deep
    if hasattr(sys, "get_int_max_str_digits"):
        with pytest.raises(tg.LimitError) as caught:
            tg.CallClose(0, "f", '{"a":' + "9" * 10_000 + "}").arguments
        assert isinstance(caught.value.__cause__, ValueError)


def test_a_cycle_through_arguments_is_collected():
    class Mark:
        pass

    mark = Mark()
    gone = weakref.ref(mark)
    for kind in (tg.CallClose(0, "f", "{}"), tg.Call("f", "{}")):
        kind.arguments["me"] = kind
        kind.arguments["mark"] = mark
    del kind, mark
    gc.collect()
    assert gone() is None


def test_turn():
    turn = tg.parse('a<tool_call name="f"><param name="a">1</param></tool_call><tool_call name="g">')
    again = pickle.loads(pickle.dumps(turn))
    assert again == turn and again.calls == turn.calls and again != tg.Turn()
    assert tg.Turn("a").text == "a" and tg.Turn() == tg.Turn()
    call = turn.calls[0]
    assert (call.name, call.arguments, call.arguments_json, call.index) == ("f", {"a": "1"}, '{"a":"1"}', 0)
    assert call.complete and call.dialect == "tool-call-xml" and (call.start, call.end) == (1, 58)
    assert [type(issue) for issue in turn.issues] == [tg.Issue]
    assert turn.errors == turn.issues
    assert repr(turn).startswith("Turn(text='a")
    json.dumps(call.arguments)
    match turn:
        case tg.Turn(text, _, [tg.Call(name, arguments)]):
            assert (name, arguments) == ("f", {"a": "1"}) and text


def test_dropped_bytes_have_kinds():
    cut = '<tool_call>{"name":"f","arguments":{"a":"x'
    wanted = {"withheld": [], "dropped": [{"span": [0, 42], "kinds": ["unclosed_block"]}]}
    turn = tg.parse(cut)
    assert turn.toolglot == wanted == turn.to_dict()["toolglot"]
    assert [issue.kind for issue in turn.issues] == ["unclosed_block"]
    for output in (cut, turn):
        assert tg.to_completion(output)["toolglot"] == wanted
    call = '<tool_call name="f"><param name="a">1</param></tool_call>'
    engine = tg.Engine(tools=[{"name": "g"}], unknown_tool="drop")
    assert engine.parse(call).toolglot["dropped"] == [{"span": [0, len(call)], "kinds": ["unknown_tool"]}]


def test_original():
    text = '<think>想</think>a <tool_call name="f"><param name="a">1</param></tool_call> b <tool_call name="g">'
    turn = tg.parse(text, original=True)
    assert turn.original == text and len(turn.calls) == 1 and turn.to_dict()["original"] == text
    assert pickle.loads(pickle.dumps(turn)).original == text
    assert tg.parse(text).original is None and "original" not in tg.parse(text).to_dict()
    assert tg.parse(b"\xff", original=True).original == "\ufffd"
    guarded = tg.Engine().parse(text, original=True, guard=True)
    assert guarded.original == text and guarded != tg.Engine().parse(text, guard=True)


def test_recovered():
    turn = tg.parse('<tool_call name="f"><param name="a">1</param><param name="a">2</param></tool_call>')
    call = turn.calls[0]
    assert call.recovered == ["duplicate_param"] and not call.complete and call.arguments == {"a": "2"}
    stream = tg.Engine().stream()
    close = next(
        event
        for event in stream.feed('<tool_call name="f"><param name="a">1</param><param name="a">2</param></tool_call>')
        if isinstance(event, tg.CallClose)
    )
    assert close.recovered == ["duplicate_param"] and close.arguments_json == '{"a":"2"}'
