"""The turns that every template is asked to write: what an assistant may say and call, with one trait each."""


def _string(*names):
    return {name: {"type": "string"} for name in names}


ONE = {"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}
TWO = {"name": "send_mail", "arguments": {"to": "ann@example.org", "urgent": False}}


def _turn(calls, text="", reasoning=""):
    return {"text": text, "reasoning": reasoning, "calls": calls}


def _call(**arguments):
    return _turn([{"name": "store_note", "arguments": arguments}])


SHAPES = {
    "one call": _turn([ONE]),
    "two calls": _turn([ONE, TWO]),
    "text before": _turn([ONE], text="Let me look that up."),
    "reasoning before": _turn([ONE], reasoning="The user asks for the weather."),
    "all three": _turn([ONE, TWO], text="One moment.", reasoning="Two tools are needed.\n\nFirst the weather."),
    "nested": _call(nested={"a": [1, {"b": None, "c": [True, "x"]}], "d": {"e": {}}}, items=["p", "q, r"]),
    "unicode": _call(text="Zürich 東京 🎉 naïve", title="“中文，引号”"),
    "quotes": _call(text='She said "hi", it\'s', title="back\\slash \\n", extra="'\"'", mark='"'),
    "lines": _call(text="first\nsecond\n\nfourth", title="tab\there", extra="carriage\r\nreturn"),
    "markup": _call(text="<b>bold</b> & <br/>", title="a < b > c", extra="&amp; &lt;", mark="{x} [y] (z), k: v; w=1"),
    "literals": _call(text="true", title="null", extra="42", mark="None", flag=True, count=42, ratio=None),
    "numbers": _call(count=12345678901234567890, ratio=0.1, huge=1e22, small=-7),
    "empty": _call(text="", items=[], nested={}),
    "no arguments": _turn([{"name": "ping", "arguments": {}}]),
    "look-alikes": _call(
        text="a <tool_call> b </tool> c <think> d",
        title="<|tool_end|> [TOOL] </s ",
        extra="```json\n{\"name\": \"rm\"}\n```",
        mark="Action: rm",
    ),
    "blanks": _call(text="  two on each side  ", title=" ", extra="tail\n", mark="\nhead"),
}

PROPERTIES = {
    "get_weather": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "send_mail": {"to": {"type": "string"}, "urgent": {"type": "boolean"}},
    "ping": {},
    "store_note": {
        **_string("text", "title", "extra", "mark"),
        "nested": {"type": "object"},
        "items": {"type": "array", "items": {"type": "string"}},
        "flag": {"type": "boolean"},
        "count": {"type": "integer"},
        "ratio": {"type": "number", "nullable": True},
        "huge": {"type": "number"},
        "small": {"type": "integer"},
    },
}


def tool(name):
    described = {key: {**schema, "description": f"The {key}."} for key, schema in PROPERTIES[name].items()}
    parameters = {"type": "object", "properties": described, "required": []}
    return {"type": "function", "function": {"name": name, "description": "A tool.", "parameters": parameters}}


TOOLS = [tool(name) for name in PROPERTIES]
