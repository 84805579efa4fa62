"""Masking, escaping, encoding, transcoding, detection."""

import pytest
import toolglot as tg

CALL = '<tool_call name="f"><param name="a">1</param></tool_call>'
TOOLS = [{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}]


def test_escape_and_back():
    page = 'see <tool_call name="f"> and <think>.'
    safe = tg.escape(page)
    assert tg.parse(safe).calls == [] and tg.unescape(safe) == page and safe != page
    assert tg.unescape(tg.escape(page.encode())) == page.encode()
    assert tg.escape("plain.") == "plain."
    assert tg.escape("(<think>)", dialects="tool-call-xml") == "(<think>)"
    with pytest.raises(TypeError, match="text: str, bytes"):
        tg.escape(3)
    with pytest.raises(TypeError, match="an engine or dialects, not both"):
        tg.escape("x", engine=tg.Engine(), dialects="vcp")


def test_encode_every_shape_of_calls():
    wanted = tg.encode(("f", {"a": "1"}), "tool-call-xml")
    call = tg.parse(wanted).calls[0]
    assert (call.name, call.arguments) == ("f", {"a": "1"})

    class Function:
        name, arguments = "f", '{"a": "1"}'

    class ToolCall:
        id, function = "call_1", Function

    shapes = [
        ("f", '{"a": "1"}'),
        {"name": "f", "arguments": {"a": "1"}},
        {"id": "x", "type": "function", "function": {"name": "f", "arguments": '{"a":"1"}'}},
        ToolCall,
        call,
    ]
    for shape in shapes:
        assert tg.encode(shape, "tool-call-xml") == wanted
        assert tg.encode([shape], "tool-call-xml") == wanted
    assert [c.name for c in tg.parse(tg.encode(shapes, "tool-call-xml")).calls] == ["f"] * 5
    assert tg.encode([], "tool-call-xml") == ""
    assert tg.encode(("f", None), "hermes")


def test_encode_refuses():
    with pytest.raises(tg.EncodeError, match=r"call 0 \(f\), /a: .*no schema gives this value its type"):
        tg.encode(("f", {"a": 1}), "tool-call-xml")
    assert "1" in tg.encode(("f", {"a": 1}), "tool-call-xml", tools=TOOLS)
    with pytest.raises(tg.EncodeError, match="no dialect nothing with calls"):
        tg.encode(("f", {}), "nothing", engine=tg.Engine())
    with pytest.raises(tg.DialectError):
        tg.encode(("f", {}), "nothing")
    with pytest.raises(tg.EncodeError, match="not one JSON object"):
        tg.encode(("f", "[1]"), "hermes")
    with pytest.raises(TypeError, match=r"calls\[1\]"):
        tg.encode([("f", {}), 3], "hermes")
    with pytest.raises(TypeError, match=r"calls\[0\].arguments"):
        tg.encode(("f", {"a": object()}), "hermes")


def test_transcode():
    out = tg.transcode("Hi " + CALL + " bye", "hermes")
    turn = tg.parse(out, dialects="hermes")
    assert turn.text == "Hi  bye" and turn.calls[0].arguments == {"a": "1"}
    assert tg.transcode(("Hi " + CALL).encode(), "hermes").startswith(b"Hi <tool_call>")
    broken = 'a <tool_call name="f"><param name="a">1</param><param name="a">2</param></tool_call>'
    with pytest.raises(tg.EncodeError, match="is recovered"):
        tg.transcode(broken, "vcp")
    assert tg.transcode(broken, "vcp", keep=True) == broken


def test_mask():
    text = "中 " + CALL + " b <think>hm</think>."
    assert tg.mask(text) == "中  b <think>hm</think>."
    assert tg.mask(text, calls=True) == text
    both = tg.Engine(["tool-call-xml", "reasoning-think"])
    assert tg.mask(text, calls="[{tools}]", reasoning=False, engine=both) == "中 [f] b ."
    assert tg.mask(text, reasoning="...", engine=both) == "中  b ...."
    for size in (1, 3, 7):
        data = text.encode()
        live = tg.Mask(tg.Engine(), calls="[{tools}]")
        assert "".join(live.feed(data[at : at + size]) for at in range(0, len(data), size)) + live.finish() == tg.mask(
            text, calls="[{tools}]"
        )
        with pytest.raises(tg.StateError, match="the mask is finished"):
            live.feed("x")
    with pytest.raises(TypeError, match="calls: True, False or a string is needed, not int"):
        tg.mask(text, calls=3)


def test_detect():
    found = tg.detect("x " + CALL)
    assert found[0].dialect == "tool-call-xml" and found[0].confidence == "strong" and found[0].chosen
    assert found[0].spans == [(2, 59)] and found[0].complete == 1
    assert "tool-call-xml" in repr(found[0])
    assert tg.detect("nothing here") == []
    with pytest.raises(tg.ToolsError):
        tg.detect("x", tools="3")


def test_parse_options():
    assert tg.parse("a <tool_call").text == "a <tool_call"
    assert tg.parse("a <tool_call", finish="length").text == "a "
    assert tg.parse("x</think>y", engine=tg.Engine("reasoning-think", start="reasoning")).reasoning == "x"
    assert tg.parse(CALL, tools=TOOLS).calls[0].arguments == {"a": 1}
    with pytest.raises(ValueError, match="reason='x'"):
        tg.parse("a", finish="x")
    long = "text " * 10_000 + CALL
    assert tg.parse(long.encode()) == tg.parse(long) == tg.parse(bytearray(long.encode()))
