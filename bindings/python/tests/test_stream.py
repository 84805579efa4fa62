"""Streams: chunks, characters, ends, snapshots, copies."""

import array
import copy
import json
import pickle

import pytest
import toolglot as tg
from turns import joined, turn_of

REPLY = (
    'Grüße 🌊! <think>hm 中</think> <tool_call name="f"><param name="a">né 🌊</param></tool_call> und '
    '<tool_call name="g"><param name="b">2</param></tool_call> Ende 中'
)
ENGINE = tg.Engine(["tool-call-xml", "reasoning-think"])


def test_any_chunking_gives_the_right_text():
    data = REPLY.encode()
    stream = ENGINE.stream()
    whole = stream.feed(data) + stream.finish()
    text, reasoning, calls, issues = turn_of(whole)
    assert text == "Grüße 🌊!   und  Ende 中"
    assert reasoning == "hm 中" and not issues
    assert calls == [("f", '{"a":"né 🌊"}'), ("g", '{"b":"2"}')]
    for cut in range(len(data) + 1):
        stream = ENGINE.stream()
        events = stream.feed(data[:cut]) + stream.feed(b"") + stream.feed(data[cut:]) + stream.finish()
        assert joined(events) == joined(whole)
        assert all("\ufffd" not in event.text for event in events if isinstance(event, (tg.Text, tg.Reasoning)))


def test_an_incomplete_character_is_held():
    stream = ENGINE.stream()
    wave = "🌊".encode()
    assert stream.feed(wave[:3]) == [] and stream.held == 3
    assert stream.feed(wave[3:]) == [tg.Text("🌊", 0, 4)]
    stream.feed(wave[:2])
    assert stream.finish() == [tg.Text("\ufffd", 4, 6)]


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview, lambda data: array.array("B", data), str])
def test_kinds_of_chunks(make):
    stream = ENGINE.stream()
    chunk = "abc" if make is str else make(b"abc")
    assert stream.feed(chunk) == [tg.Text("abc", 0, 3)]


def test_a_view_with_gaps():
    assert ENGINE.stream().feed(memoryview(b"a.b.c.")[::2]) == [tg.Text("abc", 0, 3)]


def test_subclasses_of_str():
    class Mine(str):
        pass

    assert ENGINE.stream().feed(Mine("x")) == [tg.Text("x", 0, 1)]


@pytest.mark.parametrize("chunk", [None, 3, 1.5, ["a"], object()])
def test_bad_chunks(chunk):
    stream = ENGINE.stream()
    with pytest.raises(TypeError, match=f"chunk: str, bytes, bytearray or memoryview is needed, not {type(chunk).__name__}"):
        stream.feed(chunk)
    assert stream.feed("still there")


def test_half_a_surrogate_pair():
    with pytest.raises(UnicodeEncodeError):
        ENGINE.stream().feed("\ud83c")


def test_nul_bytes():
    assert ENGINE.stream().feed("a\0b") == [tg.Text("a\0b", 0, 3)]


def test_end():
    stream = ENGINE.stream()
    stream.feed("a <tool_c")
    assert (stream.held, stream.position, stream.finished) == (7, 9, False)
    assert stream.finish() == [tg.Text("<tool_c", 2, 9)]
    assert stream.finished and stream.finish() == [] and stream.finish("error") == []
    for step in (stream.feed, stream.feed_special, stream.prefill, stream.native_call):
        with pytest.raises(tg.StateError, match="the stream is finished; reset.. starts it over"):
            step("x")
    stream.reset()
    assert (stream.held, stream.position, stream.finished) == (0, 0, False)
    assert stream.feed("x") == [tg.Text("x", 0, 1)]
    with pytest.raises(ValueError, match="reason='done': it is one of 'stop', 'length'"):
        stream.finish("done")


def test_a_truncated_call_is_not_a_call():
    stream = ENGINE.stream()
    events = stream.feed(REPLY[:70]) + stream.finish("length")
    _, _, calls, issues = turn_of(events)
    assert calls == [] and issues[-1].kind == "unclosed_block"
    assert all(issue.severity == "error" and issue.observation for issue in issues)


def test_with_block():
    with ENGINE.stream() as stream:
        stream.feed("a <tool")
        assert stream.tail == []
    assert stream.finished and stream.tail == [tg.Text("<tool", 2, 7)]
    with ENGINE.stream() as stream:
        last = stream.finish("length")
    assert last == [] and stream.tail == []
    with pytest.raises(KeyError):
        with ENGINE.stream() as stream:
            raise KeyError
    assert not stream.finished


def test_start_and_prefill():
    stream = ENGINE.stream(start="reasoning")
    assert turn_of(stream.feed("a</think>b") + stream.finish())[:2] == ("b", "a")
    stream = ENGINE.stream()
    assert not any(isinstance(event, tg.Text) for event in stream.prefill('<tool_call name="f">'))
    calls = turn_of([tg.CallOpen(0, "f"), *stream.feed('<param name="a">1</param></tool_call>'), *stream.finish()])[2]
    assert calls == [("f", '{"a":"1"}')]
    with pytest.raises(ValueError, match="start='x'"):
        ENGINE.stream(start="x")


def test_trusted_markers():
    engine = tg.Engine("tool-call-xml", trusted_only=True)
    stream = engine.stream()
    assert turn_of(stream.feed(REPLY) + stream.finish())[2] == []
    stream = engine.stream()
    events = stream.feed_special('<tool_call name="f">') + stream.feed('<param name="a">1</param></tool_call>')
    assert turn_of(events + stream.finish())[2] == [("f", '{"a":"1"}')]


def test_native_calls():
    stream = ENGINE.stream()
    events = stream.feed("hi") + stream.native_call("f", '{"a": 1}', "call_7") + stream.finish("tool_calls")
    opened = next(event for event in events if isinstance(event, tg.CallOpen))
    assert opened.native and opened.meta == {"id": "call_7"} and opened.dialect == ""
    assert turn_of(events)[2] == [("f", '{"a": 1}')] or turn_of(events)[2] == [("f", '{"a":1}')]
    turn = ENGINE.parse("hi", native_calls=[{"id": "1", "function": {"name": "f", "arguments": {"a": 1}}}])
    assert turn.calls[0].native and turn.calls[0].arguments == {"a": 1}
    with pytest.raises(ValueError, match=r"native_tool_calls\[0\]: it has no `function`"):
        ENGINE.parse("hi", native_calls=[{}])
    with pytest.raises(TypeError, match="native_calls"):
        ENGINE.parse("hi", native_calls=3)


def test_nothing_retained():
    engine = ENGINE.replace(retain="none")
    stream = engine.stream()
    events = stream.feed(REPLY) + stream.finish()
    closes = [event for event in events if isinstance(event, tg.CallClose)]
    assert [close.name for close in closes] == ["f", "g"]
    assert all(close.arguments is None and close.arguments_json is None for close in closes)
    assert turn_of(events)[2] == [("f", '{"a":"né 🌊"}'), ("g", '{"b":"2"}')]


def test_snapshot_at_every_byte():
    data = REPLY.encode()
    stream = ENGINE.stream()
    whole = stream.feed(data) + stream.finish()
    walker, before = ENGINE.stream(), []
    for at in range(len(data) + 1):
        restored = ENGINE.restore(walker.snapshot())
        copied = walker.copy()
        for other in (restored, copied):
            assert (other.position, other.held) == (walker.position, walker.held) == (at, walker.held)
            assert joined(before + other.feed(data[at:]) + other.finish()) == joined(whole)
        before += walker.feed(data[at : at + 1])


def test_snapshot_of_a_finished_stream():
    stream = ENGINE.stream()
    stream.finish()
    assert ENGINE.restore(stream.snapshot()).finished


def test_bad_snapshots():
    stream = ENGINE.stream()
    stream.feed('<tool_call name="f"><param name="a">12')
    good = stream.snapshot()
    for bad in (b"", b"x", good[:-1], good[:20], good + b"x"):
        with pytest.raises(tg.SnapshotError, match="damaged"):
            ENGINE.restore(bad)
    for at in range(len(good)):
        with pytest.raises(tg.SnapshotError):
            ENGINE.restore(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
    with pytest.raises(tg.SnapshotError, match="other dialects or options"):
        tg.Engine("vcp").restore(good)
    with pytest.raises(tg.SnapshotError, match="other dialects or options"):
        ENGINE.restore(good, start="reasoning")
    with pytest.raises(TypeError):
        ENGINE.restore("text")


def test_copies():
    stream = ENGINE.stream()
    stream.feed('<tool_call name="f"><param name="a">1')
    for other in (copy.copy(stream), copy.deepcopy(stream), stream.copy()):
        assert other.engine is stream.engine and other.position == 37
        closes = [event for event in other.feed("2</param></tool_call>") if isinstance(event, tg.CallClose)]
        assert closes[0].arguments == {"a": "12"}
        assert (other.position, stream.position) == (58, 37)


def test_no_pickle():
    with pytest.raises(TypeError, match=r"a Stream cannot be pickled; send stream.snapshot\(\)"):
        pickle.dumps(ENGINE.stream())


def test_a_panic_is_an_internal_error():
    stream = ENGINE.stream()
    stream.feed("a <tool")
    with pytest.raises(tg.InternalError, match="an internal error .asked for.") as caught:
        stream._panic()
    assert isinstance(caught.value, Exception) and type(caught.value).__name__ != "PanicException"
    for step in (lambda: stream.feed("x"), stream.finish, stream.reset, stream.snapshot, stream.copy, lambda: stream.held):
        with pytest.raises(tg.StateError, match="failed with an internal error"):
            step()
    assert "broken" in repr(stream)
    assert ENGINE.stream().feed("others go on") == [tg.Text("others go on", 0, 12)]


def test_repr():
    stream = ENGINE.stream()
    stream.feed("abc")
    assert repr(stream) == "<toolglot.Stream at byte 3>"
    stream.finish()
    assert repr(stream) == "<toolglot.Stream, finished at byte 3>"


def test_stages():
    stream = ENGINE.stream()
    steps = [
        ("", False, "normal"),
        ("Hi ", False, "normal"),
        ("<", False, "tag_opening"),
        ("b>", False, "normal"),
        ("<thi", False, "tag_opening"),
        ("nk>", True, "normal"),
        ("想", True, "normal"),
        ("</", True, "tag_opening"),
        ("think>", False, "normal"),
        ('<tool_call name="f">', False, "tag_content"),
        ("</tool_call>", False, "normal"),
        ("<think>", True, "normal"),
    ]
    for chunk, reasoning, stage in steps:
        stream.feed(chunk)
        assert (stream.in_reasoning, stream.stage) == (reasoning, stage), chunk
        assert stream.may_hold_marker == (stage != "normal"), chunk
    stream.finish()
    assert not stream.in_reasoning and not stream.may_hold_marker and stream.stage == "normal"
    prompted = ENGINE.stream(prompt_tail="<|im_start|>assistant\n<think>\n")
    assert prompted.in_reasoning and not prompted.may_hold_marker


def test_the_calls_so_far():
    stream, calls = tg.Engine("hermes").stream(), tg.Calls()
    steps = [
        ("Hi ", None, [], "normal"),
        ('<tool_call>{"name": "f", "arguments": {"a": "x', tg.OpenCall(0, None, "f", '{"a": "x'), [], "tag_content"),
        ('y"}}', None, ["f"], "tag_closing"),
        ('</tool_call><tool_call>{"name": "g", "arguments": {', tg.OpenCall(1, None, "g", "{"), ["f"], "tag_content"),
    ]
    for chunk, opened, closed, stage in steps:
        calls.add(stream.feed(chunk))
        assert (calls.open, [call.name for call in calls.closed], stream.stage) == (opened, closed, stage), chunk
    calls.add(stream.finish())
    assert calls.open is None and [call.arguments for call in calls.closed] == [{"a": "xy"}]


@pytest.mark.parametrize("retain", ["block", "none"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_calls_so_far_become_those_of_the_turn(size, retain):
    engine = tg.Engine(retain=retain)
    text = (
        '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call><tool_call>{"name": "g", "arguments": {"b": 2</tool_call>'
        '<ACTION><f><a>1</a></f></ACTION><tool_call name="h"><param name="a">1</param><param name="a">2</param></tool_call>'
    )
    stream, calls = engine.stream(), tg.Calls()
    for at in range(0, len(text), size):
        calls.add(stream.feed(text[at : at + size]))
    calls.add(stream.finish())
    assert calls.closed == engine.parse(text).calls
    assert len(calls.closed) > 1


def test_closed_calls_keep_the_pieces_of_their_arguments():
    engine = tg.Engine(["hermes", "tool-call-xml", "action"], retain="none")
    text = (
        '<tool_call>{"name": "rm", "arguments": {"path": "/tmp/x", "n": 1.50}}</tool_call>'
        '<tool_call name="h"><param name="a">"1" {2}, [</param><param name="b">3</param><param name="a">2</param></tool_call>'
        "<ACTION><f><a>1</a></f></ACTION>"
    )
    stream, calls = engine.stream(), tg.Calls()
    events = stream.feed(text) + stream.finish()
    calls.add(events)
    found = [(call.name, json.loads(call.to_openai("c")["function"]["arguments"]), call.grade) for call in calls.closed]
    assert found == [("rm", {"path": "/tmp/x", "n": 1.5}, "complete"), ("h", {"a": "2", "b": "3"}, "recovered"), ("f", {}, "recovered")]
    assert "1.50" in calls.closed[0].arguments_json and calls.closed == engine.parse(text).calls
    # The events themselves have none, and are no calls without arguments.
    for event in events:
        if isinstance(event, tg.CallClose):
            with pytest.raises(ValueError, match=r"^calls\[0\]: its arguments were not kept"):
                tg.encode(event, "hermes")


def test_dialects_of_a_model():
    found = tg.model_dialects("Qwen/Qwen3-8B")
    assert (found.calls, found.reasoning, found.all) == (["hermes"], "reasoning-think", ["hermes", "reasoning-think"])
    found = tg.model_dialects("gpt-oss-20b")
    assert (found.reasoning, found.all, tg.Engine(found.all).dialects) == ("reasoning-harmony", ["harmony"], ["harmony"])
    found = tg.model_dialects("gpt-2")
    assert (found.calls, found.reasoning, found.all) == ([], None, [])
