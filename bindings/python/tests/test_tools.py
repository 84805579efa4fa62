"""The tools layer: definitions from functions and lists, prompts, checks, results."""

import dataclasses
import datetime
import decimal
import enum
import functools
import json
import pathlib
import typing
import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, Optional, TypedDict, TypeVar, Union

import pytest
import toolglot as tg


class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"


@dataclasses.dataclass
class Place:
    """Where something is.

    Args:
        city: Its town.
    """

    city: str
    unit: Unit = Unit.C
    inside: Optional["Place"] = None


class Range(TypedDict, total=False):
    low: int
    high: int


Id = NewType("Id", str)


def schema(function):
    return tg.Tool(function).parameters["properties"]


def test_hints_become_schemas():
    def f(
        a: str,
        b: int,
        c: float,
        d: bool,
        e: list[int],
        g: dict[str, float],
        h: Literal["x", "y"],
        i: Unit,
        j: str | None,
        k: Union[int, list[str]],
        m: Annotated[int, "how many"],
        n: tuple[int, str],
        o: tuple[int, ...],
        p: set[str],
        q: Any,
        r: Sequence[str],
        s: Mapping[str, int],
        t: datetime.date,
        u: Id,
        v,
        w: int = 3,
        x: list | None = None,
    ):
        pass

    made = schema(f)
    assert made == {
        "a": {"type": "string"},
        "b": {"type": "integer"},
        "c": {"type": "number"},
        "d": {"type": "boolean"},
        "e": {"type": "array", "items": {"type": "integer"}},
        "g": {"type": "object", "additionalProperties": {"type": "number"}},
        "h": {"type": "string", "enum": ["x", "y"]},
        "i": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        "j": {"type": ["string", "null"]},
        "k": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}]},
        "m": {"type": "integer", "description": "how many"},
        "n": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
        "o": {"type": "array", "items": {"type": "integer"}},
        "p": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "q": {},
        "r": {"type": "array", "items": {"type": "string"}},
        "s": {"type": "object", "additionalProperties": {"type": "integer"}},
        "t": {"type": "string", "format": "date"},
        "u": {"type": "string"},
        "v": {},
        "w": {"type": "integer", "default": 3},
        "x": {"type": ["array", "null"], "default": None},
    }
    assert tg.Tool(f).parameters["required"] == list("abcdeghijkmnopqrstuv")


def test_classes_are_made_from_their_members():
    def f(place: Place, span: Range, when: datetime.datetime, units: list[Unit], pair: tuple[Unit, ...], k: float = 0):
        return place, span, when, units, pair, k

    tool = tg.Tool(f)
    made = tool.parameters["$defs"]["Place"]
    assert made["properties"]["city"] == {"type": "string", "description": "Its town."}
    assert made["required"] == ["city"] and made["description"] == "Where something is."
    assert made["properties"]["inside"]["anyOf"][0] == {"$ref": "#/$defs/Place"}
    given = {
        "place": {"city": "Leith", "inside": {"city": "Granton", "unit": "fahrenheit"}},
        "span": {"low": 1},
        "when": "2026-01-02T03:04:05Z",
        "units": ["celsius"],
        "pair": ["fahrenheit"],
        "k": 2,
    }
    checked = tg.Tools(f).check(("f", given))
    assert checked.valid, checked.observation
    place, span, when, units, pair, k = tool.run(checked.arguments)
    assert place == Place("Leith", Unit.C, Place("Granton", Unit.F)) and span == {"low": 1}
    assert when == datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
    assert units == [Unit.C] and pair == (Unit.F,) and isinstance(k, float)
    wrong = tg.Tools(f).check(("f", {**given, "place": {"unit": "kelvin"}}))
    assert not wrong.valid and {one["path"] for one in wrong.violations} == {"/place/city", "/place/unit"}


class Mixed(enum.Enum):
    TEXT = "text"
    ONE = 1
    YES = True


class Odd(enum.Enum):
    PAIR = (1, 2)
    THING = object()


T = TypeVar("T")


@dataclasses.dataclass
class Box(Generic[T]):
    held: T
    more: list[T] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Made:
    a: int
    seed: dataclasses.InitVar[int]
    kind: typing.ClassVar[int] = 3
    sum: int = dataclasses.field(init=False, default=0)

    def __post_init__(self, seed):
        self.sum = self.a + seed


class Pair(NamedTuple):
    left: int
    right: str = "r"


class Marked(TypedDict):
    a: int
    b: "NotRequired[int]"


NotRequired = getattr(typing, "NotRequired", None)
ID = uuid.UUID(int=7)


@pytest.mark.parametrize(
    ("hint", "given", "made"),
    [
        (Literal[Unit.C, "x"], "celsius", Unit.C),
        (Literal[Unit.C, "x"], "x", "x"),
        (Odd, "PAIR", Odd.PAIR),
        (Odd, "THING", Odd.THING),
        (Mixed, 1, Mixed.ONE),
        (typing.Dict, {"a": 1}, {"a": 1}),
        (typing.Mapping, {"a": 1}, {"a": 1}),
        (typing.Tuple, [1, "a"], (1, "a")),
        (typing.Tuple[()], [], ()),
        (Sequence, [1], [1]),
        (Collection[int], [1], [1]),
        (dict[int, Unit], {"7": "celsius"}, {7: Unit.C}),
        (dict[Unit, int], {"celsius": 7}, {Unit.C: 7}),
        (pathlib.Path, "/a/b", pathlib.Path("/a/b")),
        (uuid.UUID, str(ID), ID),
        (decimal.Decimal, 1.1, decimal.Decimal("1.1")),
        (Union[Range, str], "words", "words"),
        (Union[Range, str], {"low": 1}, {"low": 1}),
        (Union[int, Any], "words", "words"),
        (Optional[Union[Annotated[Unit, "a unit"], list[Union[int, str]]]], [1, "a"], [1, "a"]),
        (Optional[Union[Annotated[Unit, "a unit"], list[Union[int, str]]]], "celsius", Unit.C),
        (Made, {"a": 1, "seed": 4}, Made(1, 4)),
        (Box[Unit], {"held": "celsius", "more": ["fahrenheit"]}, Box(Unit.C, [Unit.F])),
        (Box[Box[int]], {"held": {"held": 1}}, Box(Box(1))),
        (Pair, {"left": 1}, Pair(1)),
        (list[Pair], [{"left": 1, "right": "x"}], [Pair(1, "x")]),
    ],
    ids=str,
)
def test_hints_are_described_and_met(hint, given, made):
    def f(a):
        return a

    f.__annotations__ = {"a": hint}
    tools = tg.Tools(f)
    assert tools.faults == []
    checked = tools.check(("f", {"a": given}))
    assert checked.valid, checked.observation
    got = tools.function("f").run(checked.arguments)
    assert got == made and type(got) is type(made)


@pytest.mark.parametrize(
    ("hint", "given"),
    [(Literal[Unit.C], "x"), (Odd, [1, 2]), (Made, {"a": 1}), (Box[int], {"held": "x"}), (Box[Box[int]], {"held": {"held": "x"}}), (Pair, {}), (Union[Range, int], {"low": "x"})],
    ids=str,
)
def test_violations_of_a_hint_are_found(hint, given):
    def f(a):
        return a

    f.__annotations__ = {"a": hint}
    assert not tg.Tools(f).check(("f", {"a": given})).valid


def test_markers_of_members_are_read_as_text_too():
    if NotRequired is None:
        pytest.skip("typing has it since Python 3.11")

    def f(a: Marked):
        return a

    assert tg.Tool(f).parameters["$defs"]["Marked"]["required"] == ["a"]
    assert tg.Tool(f).parameters["$defs"]["Marked"]["properties"]["b"] == {"type": "integer"}


def test_aliases_are_resolved_and_may_be_recursive():
    extensions = pytest.importorskip("typing_extensions", reason="typing_extensions is not installed, so no alias was tried")
    tree = extensions.TypeAliasType("Tree", "dict[str, Tree] | int")
    several = extensions.TypeAliasType("Several", list[T], type_params=(T,))

    def f(a, b, c):
        return a, b, c

    f.__annotations__ = {"a": tree, "b": several[Unit], "c": extensions.TypeAliasType("Plain", int)}
    made = tg.Tool(f).parameters
    assert made["properties"]["a"] == {"$ref": "#/$defs/Tree"} and made["properties"]["c"] == {"type": "integer"}
    assert made["$defs"]["Tree"]["anyOf"][0]["additionalProperties"] == {"$ref": "#/$defs/Tree"}
    checked = tg.Tools(f).check(("f", {"a": {"x": {"y": 1}}, "b": ["celsius"], "c": 1}))
    assert checked.valid, checked.observation
    assert tg.Tool(f).run(checked.arguments) == ({"x": {"y": 1}}, [Unit.C], 1)
    assert not tg.Tools(f).check(("f", {"a": {"x": {"y": "z"}}, "b": [], "c": 1})).valid


def test_classes_with_the_same_name_are_distinguished():
    one, other = (dataclasses.make_dataclass("Same", [(name, int)]) for name in "pq")

    def f(a, b):
        return a, b

    f.__annotations__ = {"a": one, "b": other}
    checked = tg.Tools(f).check(("f", {"a": {"p": 1}, "b": {"q": 2}}))
    assert checked.valid and tg.Tool(f).run(checked.arguments) == (one(1), other(2))

    def model(kind):
        schema = {"$defs": {"Inner": {"type": kind}}, "type": "object", "properties": {"n": {"$ref": "#/$defs/Inner"}}}
        return type("Model", (), {"model_json_schema": lambda: schema, "model_validate": lambda value: value})

    f.__annotations__ = {"a": model("integer"), "b": model("string")}
    assert tg.Tools(f).check(("f", {"a": {"n": 1}, "b": {"n": "x"}})).valid
    assert not tg.Tools(f).check(("f", {"a": {"n": "x"}, "b": {"n": "x"}})).valid


def test_defaults_reach_the_function_as_they_are():
    def f(a: int = None, b: float = float("nan"), c=(1, 2), d: tuple[int, ...] = (3,), e: Unit = Unit.C, g=[1]):  # noqa: B006, RUF013
        return a, b, c, d, e, g

    tools = tg.Tools(f)
    properties = tools.function("f").parameters["properties"]
    assert "default" not in properties["b"] and "default" not in properties["c"] and properties["d"]["default"] == (3,)
    checked = tools.check(("f", {}))
    assert checked.valid, checked.observation
    a, b, *rest = tools.function("f").run(checked.arguments)
    assert a is None and b != b and rest == [(1, 2), (3,), Unit.C, [1]]
    assert tools.check(("f", {"a": 4})).arguments["a"] == 4


def test_parameters_of_every_kind_are_given():
    def f(a=Unit.C, b: int = 2, /, *, c: int, **more: Unit):
        return a, b, c, more

    tools = tg.Tools(f)
    checked = tools.check(("f", {"b": 3, "c": 4, "d": "celsius"}))
    assert checked.valid, checked.observation
    assert tools.function("f").run(checked.arguments) == (Unit.C, 3, 4, {"d": Unit.C})
    assert not tools.check(("f", {"c": 4, "d": "kelvin"})).valid
    named = tg.Tool(lambda **given: given, name="g", parameters={"properties": {"self": {}, "a-b": {}}})
    assert named.run({"self": 1, "a-b": 2}) == {"self": 1, "a-b": 2}


def test_results_become_json():
    @dataclasses.dataclass
    class Slots:
        __slots__ = ("when", "unit")
        when: datetime.date
        unit: Unit

    given = [Slots(datetime.date(2026, 1, 2), Unit.C), Unit.F, ID, pathlib.PurePosixPath("/a"), decimal.Decimal("1.10"), ValueError("x")]
    said = tg.Tools().results([("f", given)], "hermes")["content"]
    assert '[{"when": "2026-01-02", "unit": "celsius"}, "fahrenheit", "' + str(ID) + '", "/a", "1.10", "ValueError: x"]' in said


def test_lists_of_mcp_keep_their_names():
    class Definition:
        """Like MCP's newer clients, whose members have other names in JSON."""

        def model_dump(self, *, by_alias=False, mode="python", exclude_none=False):
            hints = {"readOnlyHint" if by_alias else "read_only_hint": True}
            return {"name": "f", "inputSchema" if by_alias else "input_schema": {"type": "object"}, "annotations": hints}

    made = json.loads(tg.Tools(Definition())._native.manifest())
    assert "readOnlyHint" in json.dumps(made)


def test_models_are_recognised_by_their_methods():
    class Model:
        """Like one of pydantic's."""

        def __init__(self, n):
            self.n = n

        @classmethod
        def model_json_schema(cls):
            return {
                "$defs": {"Inner": {"type": "integer"}},
                "type": "object",
                "properties": {"n": {"$ref": "#/$defs/Inner"}},
                "required": ["n"],
            }

        @classmethod
        def model_validate(cls, value):
            return cls(value["n"])

    def f(model: Model, models: list[Model] = []):  # noqa: B006
        return model.n, [one.n for one in models]

    tool = tg.Tool(f)
    assert tool.parameters["$defs"] == {"Inner": {"type": "integer"}}
    assert tg.Tools(f).check(("f", {"model": {"n": "7"}})).arguments == {"model": {"n": 7}, "models": []}
    assert tool.run({"model": {"n": 7}, "models": [{"n": 8}]}) == (7, [8])


def test_pydantic_models_are_built_and_described():
    pydantic = pytest.importorskip("pydantic", reason="pydantic is not installed, so no model of it was tried")

    class Item(pydantic.BaseModel):
        name: str
        n: int = pydantic.Field(gt=0, description="how many")

    class Order(pydantic.BaseModel):
        items: list[Item]

    def buy(order: Order, note: Annotated[str, pydantic.Field(description="For people.")] = "") -> Order:
        "Buys."
        return order

    tools = tg.Tools(buy)
    assert tools.function("buy").parameters["properties"]["note"]["description"] == "For people."
    checked = tools.check(("buy", {"order": {"items": [{"name": "tea", "n": "2"}]}}))
    assert checked.valid, checked.observation
    order = tools.function("buy").run(checked.arguments)
    assert order == Order(items=[Item(name="tea", n=2)])
    wrong = tools.check(("buy", {"order": {"items": [{"name": "tea", "n": 0}]}}))
    assert wrong.violations[0]["path"] == "/order/items/0/n"
    said = tools.results([("buy", order)], "hermes")["content"]
    assert '{"items": [{"name": "tea", "n": 2}]}' in said


@pytest.mark.parametrize(
    "doc",
    [
        "Does it.\n\nArgs:\n    a: The first,\n        on two lines.\n    b (int): The second.\n\nReturns:\n    c: nothing.",
        "Does it.\n\nParameters\n----------\na : str\n    The first,\n    on two lines.\nb : int\n    The second.\n\nReturns\n-------\nc : int\n    nothing.",
        "Does it.\n\nParameters\n----------\na : str\n    The first, on two lines.\nb, c : int\n    The second.",
        "Does it.\n\n:param a: The first,\n    on two lines.\n:param int b: The second.\n:returns: nothing.",
    ],
    ids=["google", "numpy", "numpy-two", "sphinx"],
)
def test_docstrings_describe_parameters(doc):
    def f(a: str, b: int):
        pass

    f.__doc__ = doc
    tool = tg.Tool(f)
    assert tool.description == "Does it."
    assert [one.get("description") for one in tool.parameters["properties"].values()] == ["The first, on two lines.", "The second."]


def test_unusable_tools_are_refused_with_a_reason():
    class Odd:
        pass

    def rest(*args):
        pass

    def odd(a: Odd):
        pass

    def nowhere(a: "Nothing"):  # noqa: F821
        pass

    for function, why in [(dict, "dict: no signature"), (lambda a: a, "name="), (rest, "rest: \\*args"), (odd, "odd: parameter a: .*Odd"), (nowhere, "nowhere: .*Nothing")]:
        with pytest.raises(TypeError, match=why):
            tg.Tools(function)
    with pytest.raises(TypeError, match="int"):
        tg.Tools(7)
    with pytest.raises(TypeError, match="needs a name"):
        tg.Tool()
    with pytest.raises(tg.ToolsError, match="name"):
        tg.Tools({"description": "no name"})
    with pytest.raises(tg.ToolsError, match="f"):
        tg.Tools({"name": "f"}, {"name": "f"})
    with pytest.raises(tg.ToolsError):
        tg.Tools("{")


def test_every_callable_is_accepted():
    class Greeter:
        """Greets."""

        def __call__(self, name: str) -> str:
            return f"Hi {name}"

        def method(self, name: str) -> str:
            "Greets, too."
            return f"Ho {name}"

    def greet(word: str, name: str) -> str:
        "Greets with a word."
        return f"{word} {name}"

    tools = tg.Tools(Greeter().method, tg.Tool(Greeter(), name="greeter"), tg.Tool(functools.partial(greet, "Hey"), name="hey"))
    assert tools.names == ["method", "greeter", "hey"]
    assert [tools.function(name).run({"name": "Ada"}) for name in tools.names] == ["Ho Ada", "Hi Ada", "Hey Ada"]


def test_lists_of_any_form_are_read():
    openai = {"type": "function", "function": {"name": "a", "description": "A", "parameters": {"type": "object"}}}
    anthropic = {"name": "b", "description": "B", "input_schema": {"type": "object"}}
    mcp = {"tools": [{"name": "c", "description": "C", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]}
    assert tg.Tools(openai, anthropic, mcp).names == ["a", "b", "c"]
    assert tg.Tools([openai, anthropic], json.dumps(mcp)).names == ["a", "b", "c"]
    again = tg.Tools(tg.Tools(openai, anthropic), mcp)
    assert again.names == ["a", "b", "c"] and len(again) == 3
    assert [one["function"]["description"] for one in again] == ["A", "B", "C"]
    turn = tg.parse('<tool_call>{"name": "a", "arguments": {}}</tool_call>', dialects="hermes", tools=again)
    assert turn.calls[0].name == "a" and again.check(turn)[0].valid


def test_calls_of_any_shape_are_checked():
    def f(n: int, where: str = "here") -> None:
        "F."

    tools = tg.Tools(f)
    turn = tg.parse('<tool_call name="f"><param name="n">7</param></tool_call>', dialects="tool-call-xml")
    for call in [turn.calls[0], ("f", {"n": "7"}), {"name": "f", "arguments": '{"n": 7}'}, {"function": {"name": "f", "arguments": "{\"n\":7}"}}]:
        checked = tools.check(call)
        assert checked.valid and checked.arguments == {"n": 7, "where": "here"} and checked.tool == "f"
        assert json.loads(checked.arguments_json) == checked.arguments
    checked = tools.check(("g", {}), dialect="action")
    assert not checked.valid and checked.tool is None and "g" in checked.observation
    assert tools.check(("f", {"n": 1, "x": 2})).violations[0]["kind"] == "unknown_param"
    assert tools.check(("f", "{broken")).violations[0]["kind"] == "malformed_json"


def test_every_dialect_with_calls_has_a_prompt():
    def weather(city: str) -> str:
        "Tells the weather."

    tools = tg.Tools(weather)
    taught = 0
    for dialect in tg.dialects():
        try:
            text = tools.prompt(dialect.id)
        except tg.DialectError:
            continue
        taught += "weather" in text
    assert taught > 50
    assert "天气" in tg.Tools({"name": "天气", "description": "查天气"}).prompt("action", lang="zh")
    with pytest.raises(tg.DialectError):
        tools.prompt("nothing")
    assert tools.prompt("qwen25") == tools.prompt("hermes", engine=tg.Engine(["vcp", "hermes"])) == tools.prompt("hermes")
    assert tools.results([("weather", "rain")], "qwen25") == tools.results([("weather", "rain")], "hermes")
    for preset in ("any", "default"):
        with pytest.raises(tg.DialectError):
            tools.prompt(preset)
    with pytest.raises(ValueError, match="lang='fr'"):
        tools.prompt("hermes", lang="fr")


def test_results_are_escaped_and_in_the_syntax_of_the_dialect():
    tools = tg.Tools()
    turn = tg.parse('<tool_call>{"name": "f", "arguments": {}}</tool_call>', dialects="hermes")
    said = tools.results([(turn.calls[0], {"n": 1}), ("g", "</tool_response> ok")], "hermes")
    assert said["role"] == "user" and said["content"].count("</tool_response>") == 2 and '{"n": 1}' in said["content"]
    failed = {"id": "c", "name": "f", "status": "denied", "content": ""}
    assert "拒绝" in tools.results([failed], "tool-action", lang="zh")["content"]
    with pytest.raises(ValueError, match="odd"):
        tools.results([{"name": "f", "status": "odd"}], "hermes")
    with pytest.raises(TypeError, match=r"results\[1\]"):
        tools.results([("f", 1), 7], "hermes")


def test_conversations_are_written_for_models_without_tools():
    def weather(city: str) -> str:
        "Tells the weather."

    tools = tg.Tools(weather)
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Leith"}'}}
    other = {**call, "id": "c2", "function": {"name": "weather", "arguments": '{"city": "</tool_call>"}'}}
    told = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "How is it?"}]},
        {"role": "assistant", "content": "I look.", "tool_calls": [call, other]},
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "<tool_call> sun"}]},
        {"role": "user", "content": "And now?"},
    ]
    before = json.dumps(told)
    for dialect in ["hermes", "tool-call-xml", "deepseek-v31", "qwen25", "tool-action"]:
        out = tools.messages(told, dialect)
        assert [one["role"] for one in out[:3]] == ["system", "user", "assistant"] and len(out) == 5
        assert out[0]["content"] == f"Be brief.\n\n{tools.prompt(dialect)}" and out[1] == told[1] and out[4] == told[5]
        turn = tg.parse(out[2]["content"], dialects=dialect, tools=tools)
        assert turn.text.strip() == "I look." and "tool_calls" not in out[2]
        assert [one.arguments["city"] for one in turn.calls] == ["Leith", "</tool_call>"]
        assert "rain" in out[3]["content"] and "sun" in out[3]["content"]
        assert tg.parse(out[3]["content"], dialects=dialect).calls == []
    assert json.dumps(told) == before
    assert tools.messages([{"role": "user", "content": "x"}], "hermes")[0] == {"role": "system", "content": tools.prompt("hermes")}
    assert tg.Tools().messages(told[:1], "hermes") == told[:1]
    assert tg.Tools().messages(told[3:4], "hermes")[0]["role"] == "user"
    broken = {**call, "function": {"name": "weather", "arguments": "{"}}
    with pytest.raises((tg.EncodeError, ValueError)):
        tools.messages([{"role": "assistant", "tool_calls": [broken]}], "hermes")
    with pytest.raises(TypeError):
        tools.messages(["x"], "hermes")
