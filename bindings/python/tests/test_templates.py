"""Dialects from chat templates: the forms that a template comes in, what is made of it, and what is refused."""

import json
import struct

import pytest
import toolglot as tg


def template(call):
    return (
        "{%- for m in messages %}{{- '<|' + m.role + '|>' + (m.content or '') }}{%- for c in m.tool_calls or [] %}"
        f"{{{{- {call} }}}}{{%- endfor %}}{{{{- eos_token or '<|end|>' }}}}{{%- endfor %}}"
        "{%- if add_generation_prompt %}{{- '<|assistant|>' }}{%- endif %}"
    )


OWN = template("'<call>' + c.function.name + ': ' + (c.function.arguments | tojson) + '</call>'")
HERMES = template(r"'\n<tool_call>\n' + (c.function | tojson) + '\n</tool_call>'")
REPLY = 'Yes.<call>find: {"what": "coat"}</call>'
COAT = [{"role": "user", "content": "A coat?"}]


def gguf(pairs):
    """A GGUF file with nothing but texts in its metadata."""

    def text(value):
        return struct.pack("<Q", len(value.encode())) + value.encode()

    head = b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs))
    return head + b"".join(text(key) + struct.pack("<I", 8) + text(value) for key, value in pairs.items())


def calls(engine):
    turn = engine.parse(REPLY)
    return turn.text, [(call.name, call.arguments) for call in turn.calls]


def test_a_dialect_is_made():
    derived = tg.derive(OWN)
    assert derived.dialects == ["derived"]
    assert 'open = ["<call>$name:"]' in derived.toml
    assert derived.start == "<|assistant|>"
    assert derived.stop == ["<|end|>"]
    assert "read back" in derived.report
    assert repr(derived) == "<toolglot.Derived derived>"
    assert calls(derived.engine(fence="skip")) == ("Yes.", [("find", {"what": "coat"})])
    assert calls(tg.Engine.for_template(OWN)) == ("Yes.", [("find", {"what": "coat"})])
    assert calls(tg.Engine(toml=derived.toml)) == ("Yes.", [("find", {"what": "coat"})])


def test_a_built_in_dialect_is_taken_unless_an_own_one_is_wanted():
    derived = tg.derive(HERMES)
    assert (derived.dialects, derived.toml) == (["hermes"], None)
    assert tg.Engine.for_template(HERMES, tools=[]).dialects == ["hermes"]
    assert tg.derive(HERMES, own=True, id="house").dialects == ["house"]
    assert tg.Engine.for_template(HERMES, own=True).dialects == ["derived"]


def test_conversations_are_rendered():
    derived = tg.derive(OWN)
    assert derived.render(COAT) == "<|user|>A coat?<|end|><|assistant|>"
    assert derived.render(COAT, generate=False) == "<|user|>A coat?<|end|>"
    assert tg.derive(OWN, variables={"eos_token": "</s>"}).render(COAT, generate=False) == "<|user|>A coat?</s>"
    shows = tg.derive("{{- tools | tojson if tools else '' }}" + OWN)
    tool = {"type": "function", "function": {"name": "find"}}
    assert shows.render(COAT, [tool]).startswith('[{"type": "function", "function": {"name": "find"}}]<|user|>')
    assert shows.render(iter(COAT), json.dumps([tool])) == shows.render(COAT, [tool])
    dated = tg.derive("{{- strftime_now('%Y') }}" + OWN).render(COAT)
    assert dated.split("<")[0].isdigit()
    refuses = tg.derive("{%- if messages[0].content == 'no' %}{{- raise_exception('not this one') }}{%- endif %}" + OWN)
    with pytest.raises(tg.DialectError, match="not this one"):
        refuses.render([{"role": "user", "content": "no"}])
    for messages in ("text", {"role": "user"}, 3):
        with pytest.raises(TypeError, match="messages: a list of messages is needed"):
            derived.render(messages)


def test_every_form_of_a_template_is_read(tmp_path):
    config = json.dumps({"chat_template": OWN, "eos_token": {"content": "</s>"}})
    metadata = gguf({"general.name": "a model", "tokenizer.chat_template": OWN})
    (tmp_path / "tokenizer_config.json").write_text(config)
    (tmp_path / "model.gguf").write_bytes(metadata)
    (tmp_path / "own.jinja").write_text(OWN)
    files = [tmp_path / name for name in ("tokenizer_config.json", "model.gguf", "own.jinja")]
    for given in (OWN, OWN.encode(), config.encode(), metadata, tmp_path, *files):
        derived = tg.derive(given)
        assert derived.dialects == ["derived"]
        assert calls(derived.engine()) == ("Yes.", [("find", {"what": "coat"})])
    assert tg.derive(tmp_path).stop == ["</s>"]
    # A template of its own precedes that of the configuration.
    (tmp_path / "chat_template.jinja").write_text(HERMES)
    assert tg.derive(tmp_path).dialects == ["hermes"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("{{ messages[0].content }}", "writes no calls"),
        ("", "writes no calls"),
        ("{% if", "syntax error"),
        ("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}" + OWN, "fuel"),
        (template("'<call>' * 100000"), "."),
        (b'{"model": "x"}', "no `chat_template`"),
        (b"\xff", "not UTF-8"),
        (gguf({}), "no `tokenizer.chat_template`"),
        (b"GGUF", "."),
    ],
)
def test_what_is_no_template_is_refused(given, why):
    for make in (tg.derive, tg.Engine.for_template):
        with pytest.raises(tg.DialectError, match=why):
            make(given)


def test_wrong_arguments_are_refused(tmp_path):
    with pytest.raises(tg.DialectError, match="no such folder"):
        tg.derive(tmp_path / "no such folder")
    with pytest.raises(tg.DialectError, match="it holds none of"):
        tg.derive(tmp_path)
    with pytest.raises(TypeError, match="template: text, bytes or a path is needed, not int"):
        tg.derive(3)
    with pytest.raises(TypeError, match="variables: a mapping is needed"):
        tg.derive(OWN, variables=["x"])
    for fixed in ("dialects", "toml"):
        with pytest.raises(TypeError, match=f"{fixed} come from the template"):
            tg.Engine.for_template(OWN, **{fixed: "vcp"})
    with pytest.raises(TypeError, match="unexpected keyword"):
        tg.derive(OWN).engine(tols=[])
