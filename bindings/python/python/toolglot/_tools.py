"""Tools: the prompt that declares them, the validation of calls, and the rendering of results."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, overload

from . import _native, _schema, _support, _threads
from ._errors import DialectError
from ._native import Call, Engine, Turn

__all__ = ["Checked", "Tool", "Tools", "tool"]


class Tool:
    """A tool: its definition and, optionally, the function that carries it out. A tool can be called like its function.

    >>> import toolglot
    >>> lights = toolglot.Tool(name="lights", description="Switches lights", parameters={"type": "object"}, function=print)
    >>> lights.name, lights.parameters
    ('lights', {'type': 'object'})
    """

    def __init__(
        self,
        function: Callable[..., Any] | None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        """Whatever is not given is read from the function: its name, docstring and type hints.

        `parameters` is the JSON Schema of an object; the function then gets the arguments unconverted. `more` are further
        members of the definition, such as `tags=["read"]` or MCP's `annotations`, which a policy can use.

        Raises `TypeError` for a function whose parameters cannot be described.
        """
        if function is not None and not callable(function):
            raise TypeError(f"a function is needed, not {type(function).__name__}")
        self.function = function
        self._signature = None
        if function is not None and parameters is None:
            self._signature = _schema.Signature(function)
            parameters = self._signature.schema
            description = self._signature.description if description is None else description
        elif function is not None and description is None:
            description = _schema._docstring(function.__doc__ or "")[0]
        if name is None:
            if function is None:
                raise TypeError("a tool without a function needs a name")
            name = _schema._name(function)
            if name == "<lambda>":
                raise TypeError("a function without a name needs one: toolglot.Tool(function, name=)")
        self.name = name
        self.definition: dict[str, Any] = {"name": name, "description": description or "", **more}
        if parameters is not None:
            self.definition["parameters"] = dict(parameters)

    @property
    def description(self) -> str:
        """What the tool does."""
        return str(self.definition["description"])

    @property
    def parameters(self) -> dict[str, Any] | None:
        """The JSON Schema of its arguments."""
        return self.definition.get("parameters")

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Calls the function."""
        if self.function is None:
            raise TypeError(f"the tool {self.name} has no function")
        return self.function(*args, **kwargs)

    def run(self, arguments: Mapping[str, Any]) -> Any:
        """Calls the function with JSON arguments, converted to the types that its hints ask for."""
        if self._signature is None:
            return self(**arguments)
        return self._signature.call(arguments)

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(function: None = None, /, **options: Any) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """A decorator that makes a tool from a function. `options` are those of `Tool`.

    >>> import toolglot
    >>> @toolglot.tool(tags=["read"])
    ... def weather(city: str, days: int = 1) -> str:
    ...     '''Tells the weather.
    ...
    ...     Args:
    ...         city: Its name.
    ...     '''
    ...     return "rain"
    >>> weather.description, weather.parameters["properties"]["city"], weather("Leith")
    ('Tells the weather.', {'type': 'string', 'description': 'Its name.'}, 'rain')
    """
    if function is not None:
        return Tool(function, **options)
    return lambda own: Tool(own, **options)


@dataclasses.dataclass(frozen=True)
class Checked:
    """The result of checking a call against the definition of its tool."""

    name: str
    """The name, as the call has it."""
    tool: str | None
    """The tool; `None` if no tool has that name."""
    valid: bool
    """Whether the call is valid."""
    arguments: dict[str, Any]
    """The arguments to use if the call is valid: with defaults filled in and types as in the schema."""
    arguments_json: str
    """The same as JSON text; this text was validated."""
    observation: str | None
    """What to tell the model, in the syntax of its dialect; `None` if the call is valid."""
    recovered: bool
    """Whether the call was recovered from broken text. Do not carry out such a call without asking."""
    changes: list[dict[str, Any]]
    """How the arguments differ from those of the call: `path`, `kind`, `before`, `after`."""
    violations: list[dict[str, Any]]
    """What is wrong: `kind`, `path`, `message` and more."""


class Tools:
    """A set of tools.

    Each is a function, a `Tool`, or a definition in the form of OpenAI, Anthropic or MCP (a mapping, or a client's object).
    Lists of these, the result of MCP's `tools/list`, and JSON text are accepted too.

    >>> import toolglot
    >>> def weather(city: str) -> str:
    ...     "Tells the weather of a city."
    ...     return "rain"
    >>> tools = toolglot.Tools(weather)
    >>> "weather" in tools.prompt("hermes")
    True
    >>> turn = toolglot.parse('<tool_call>{"name": "weather", "arguments": {"town": "Leith"}}</tool_call>', dialects="hermes")
    >>> tools.check(turn)[0].violations[0]["message"]
    'the required parameter city is missing'
    """

    def __init__(self, *tools: Any) -> None:
        """Raises `ToolsError` for an invalid definition or two tools with the same name, and `TypeError` for a function whose
        parameters cannot be described.
        """
        self._functions: dict[str, Tool] = {}
        lists: list[str] = []
        for one in tools:
            self._read(one, lists)
        self._native = _native.ToolSet([_support.utf8(one) for one in lists])
        self._names = self._native.ids()

    def _read(self, one: Any, lists: list[str]) -> None:
        if isinstance(one, Tools):
            self._functions.update(one._functions)
            lists.append(one._native.manifest())
        elif isinstance(one, str):
            lists.append(one)
        elif isinstance(one, Tool):
            if one.function is not None:
                self._functions[one.name] = one
            lists.append(_support.dumps(f"tool {one.name}", {"tools": [_definition(one)]}))
        elif isinstance(one, Mapping):
            whole = "tools" in one or "result" in one
            lists.append(_support.dumps("tools", one if whole else {"tools": [one]} if _in_object(one) else [one]))
        elif isinstance(getattr(one, "tools", None), list):
            for inner in one.tools:
                self._read(inner, lists)
        elif callable(getattr(one, "model_dump", None)) and not isinstance(one, type):
            self._read(_dump(one), lists)
        elif callable(one):
            self._read(Tool(one), lists)
        elif isinstance(one, Iterable) and not isinstance(one, (bytes, bytearray, memoryview)):
            for inner in one:
                self._read(inner, lists)
        else:
            raise TypeError(f"a function, a definition or a list of them is needed, not {type(one).__name__}")

    @property
    def names(self) -> list[str]:
        """Their names, in order."""
        return list(self._names)

    @property
    def definitions(self) -> list[dict[str, Any]]:
        """The definitions in OpenAI's form: for `tools=` of a request, or of an engine."""
        made: list[dict[str, Any]] = json.loads(self._native.openai())
        return made

    @property
    def faults(self) -> list[str]:
        """What is unusable in their schemas, one sentence each. Calls of such a tool are not checked against its schema."""
        return self._native.faults()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The definitions in OpenAI's form."""
        return iter(self.definitions)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __repr__(self) -> str:
        return f"Tools({', '.join(self._names)})"

    def function(self, name: str) -> Tool | None:
        """The tool of this name, if it has a function."""
        return self._functions.get(name)

    def prompt(self, dialect: str, *, engine: Engine | None = None, lang: Literal["en", "zh"] = "en", examples: bool = True) -> str:
        """The text for a system message that declares the tools to a model, so that it writes calls in a dialect.

        Raises `DialectError` for an unknown dialect, or one without calls.
        """
        one, own = engine_of(engine, dialect)
        return self._native.prompt(one, own, lang, examples)

    @overload
    def check(self, what: Turn, *, dialect: str | None = None, allow_unknown: bool = False) -> list[Checked]: ...
    @overload
    def check(self, what: Any, *, dialect: str | None = None, allow_unknown: bool = False) -> Checked: ...
    def check(self, what: Any, *, dialect: str | None = None, allow_unknown: bool = False) -> list[Checked] | Checked:
        """Checks the calls of a turn, or one call: a `Call`, `(name, arguments)`, a mapping with both or an OpenAI tool call.

        `dialect` is used for observations about calls that do not carry their own. Undeclared parameters are violations unless
        `allow_unknown`.

        >>> import toolglot
        >>> tools = toolglot.Tools({"name": "f", "parameters": {"properties": {"n": {"type": "integer"}}}})
        >>> tools.check(("f", {"n": "7"})).arguments
        {'n': 7}
        """
        if isinstance(what, Turn):
            return [self._check(call, dialect, allow_unknown) for call in what.calls]
        return self._check(what, dialect, allow_unknown)

    def _check(self, call: Any, dialect: str | None, allow_unknown: bool) -> Checked:
        from ._functions import _call

        name, arguments, _ = _call(0, call)
        own = getattr(call, "dialect", None) or dialect or ""
        found = json.loads(self._native.check(name, arguments, _known(own), own, allow_unknown))
        return Checked(
            name=found["name"],
            tool=found["tool"],
            valid=found["valid"],
            arguments=found["arguments"],
            arguments_json=_support.dumps("arguments", found["arguments"]),
            observation=found["observation"],
            recovered=isinstance(call, Call) and bool(call.recovered),
            changes=found["changes"],
            violations=found["violations"],
        )

    def results(
        self,
        results: Iterable[Any],
        dialect: str,
        *,
        engine: Engine | None = None,
        lang: Literal["en", "zh"] = "en",
    ) -> dict[str, str]:
        """Renders the results of calls as a message for the model, in the layout of its dialect: `{"role", "content"}`.

        A result is `(call, value)`, where the call is a `Call` or a name, or a mapping: `{"id", "name", "status", "content"}`.
        Text that looks like a marker is escaped.

        >>> import toolglot
        >>> toolglot.Tools().results([("weather", "rain")], "hermes")["content"]
        '<tool_response>\\nrain\\n</tool_response>'
        """
        given = [_result(index, one) for index, one in enumerate(results)]
        text = _support.dumps("results", given)
        one, own = engine_of(engine, dialect)
        role, content = _native.results(one, own, text, lang)
        return {"role": role, "content": content}

    def messages(
        self,
        messages: Iterable[Any],
        dialect: str,
        *,
        engine: Engine | None = None,
        lang: Literal["en", "zh"] = "en",
        examples: bool = True,
    ) -> list[dict[str, Any]]:
        """Rewrites a conversation in OpenAI's form for a model without `tools` support: the system message declares the tools,
        `tool_calls` are written in the dialect's syntax, and messages with the role `tool` as the dialect writes results.

        Raises `EncodeError` for a call that the dialect cannot express, and `TypeError` for an invalid message.

        >>> import toolglot
        >>> call = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Leith"}'}}
        >>> told = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": "rain"}]
        >>> for message in toolglot.Tools().messages(told, "hermes"):
        ...     print(message["role"], message["content"])
        assistant <tool_call>{"name":"weather","arguments":{"city":"Leith"}}</tool_call>
        user <tool_response>
        rain
        </tool_response>
        """
        from ._functions import encode

        one, own = engine_of(engine, dialect)
        out: list[dict[str, Any]] = []
        if self._names:
            out.append({"role": "system", "content": self.prompt(own, engine=one, lang=lang, examples=examples)})
        names: dict[str, str] = {}
        gave: list[dict[str, Any]] = []
        for said in conversation(messages):
            role = said.get("role")
            if role == "tool":
                identity = said.get("tool_call_id") or ""
                gave.append({"id": identity, "name": names.get(identity, ""), "content": _text(said.get("content"))})
                continue
            if gave:
                out.append(dict(self.results(gave, own, engine=one, lang=lang)))
                gave = []
            calls = said.pop("tool_calls", None)
            if calls:
                names.update({call.get("id") or "": call["function"]["name"] for call in calls})
                text = _text(said.get("content"))
                # Without ids: the model did not write them.
                pairs = [(call["function"]["name"], call["function"].get("arguments") or "{}") for call in calls]
                written = encode(pairs, own, engine=one, tools=self.definitions)
                said["content"] = f"{text}\n{written}" if text else written
            if role in ("system", "developer") and len(out) == 1 and self._names:
                # The prompt follows the host's text in the same message: some models accept only one system message.
                said.update(role="system", content=f"{_text(said.get('content'))}\n\n{out.pop()['content']}")
            out.append(said)
        return [*out, dict(self.results(gave, own, engine=one, lang=lang))] if gave else out


def conversation(what: Any) -> list[dict[str, Any]]:
    """Messages as mappings, copied. Raises `TypeError` for anything that is not a message."""
    if isinstance(what, (str, bytes, bytearray, Mapping)) or not isinstance(what, Iterable):
        raise TypeError(f"text or a list of messages is needed, not {type(what).__name__}")
    messages = []
    for at, one in enumerate(what):
        if not isinstance(one, Mapping) and not callable(getattr(one, "model_dump", None)):
            raise TypeError(f"message {at}: a mapping with role and content is needed, not {type(one).__name__}")
        messages.append(dict(one) if isinstance(one, Mapping) else _dump(one))
    return messages


def _text(content: Any) -> str:
    """The text of a message, which may be a list of parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") if isinstance(part, Mapping) else str(part) for part in content)
    return content if isinstance(content, str) else ""


def content(value: Any) -> Any:
    """The return value of a tool, as results hold it: text, parts as MCP writes them, or any JSON value."""
    if value is None or isinstance(value, str):
        return value
    parts = getattr(value, "content", None)
    if isinstance(parts, list) and all(hasattr(part, "type") for part in parts):
        return _json(parts)
    return [{"type": "json", "json": _json(value)}]


def failed(value: Any) -> bool:
    """Whether the return value of a tool reports a failure, as MCP results do."""
    return isinstance(getattr(value, "content", None), list) and any(getattr(value, name, None) is True for name in ("isError", "is_error"))


def _json(value: Any) -> Any:
    """A value as JSON; numbers that JSON cannot express become strings."""
    try:
        text = json.dumps(value, default=_plain)
    except (TypeError, ValueError) as error:
        raise TypeError(f"result: {error}") from None
    return json.loads(text, parse_constant=str)


def _plain(value: Any) -> Any:
    """Like `_support.plain`, plus other types that functions return: times, paths, enum members, records."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (uuid.UUID, pathlib.PurePath, decimal.Decimal)):
        return str(value)
    if isinstance(value, BaseException):
        return _threads.words(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return _dump(value) if callable(getattr(value, "model_dump", None)) and not isinstance(value, type) else _support.plain(value)


def _dump(model: Any) -> Any:
    """A pydantic model, with the member names of its JSON."""
    try:
        return model.model_dump(mode="json", by_alias=True, exclude_none=True)
    except TypeError:
        # An object that merely has a method of this name.
        return _support.plain(model)


def _result(index: int, one: Any) -> dict[str, Any]:
    if isinstance(one, Mapping):
        return dict(one)
    if isinstance(one, tuple) and len(one) == 2:
        call, gave = one
        if isinstance(call, str):
            return {"name": call, "content": content(gave)}
        if isinstance(call, Call):
            return {"id": call.meta.get("id", ""), "name": call.name, "content": content(gave)}
    raise TypeError(f"results[{index}]: (call, value), or a mapping with name and content, is needed")


_MEMBERS = ("description", "parameters", "displayName", "aliases", "tags", "usage", "examples", "commands")


def _definition(one: Tool) -> dict[str, Any]:
    """A manifest entry, which can hold everything known about a tool."""
    own = {key: value for key, value in one.definition.items() if key in _MEMBERS}
    extra = {key: value for key, value in one.definition.items() if key not in (*_MEMBERS, "name")}
    return {"id": one.name, "agentCallable": True, **own, "extra": extra}


def _in_object(one: Mapping[str, Any]) -> bool:
    """Whether lists of such definitions come wrapped in an object, as those of MCP and of manifests do."""
    return "inputSchema" in one or "id" in one


def _known(dialect: str) -> Engine | None:
    """The engine of a dialect, if the dialect is built in."""
    try:
        return Engine(dialect) if dialect else None
    except DialectError:
        return None


def engine_of(engine: Engine | None, dialect: str) -> tuple[Engine, str]:
    """The engine, or one made for the dialect, and the id of the dialect; `dialect` may be an alias."""
    if engine is not None and dialect in engine.dialects:
        return engine, dialect
    try:
        named = Engine(dialect)
    except DialectError:
        if engine is None:
            raise
        return engine, dialect  # A dialect of the engine's own.
    return engine or named, named.dialects[0] if len(named.dialects) == 1 else dialect


def of(tools: Any) -> Tools:
    """Makes `Tools` from any accepted form."""
    if isinstance(tools, Tools):
        return tools
    return Tools(*([] if tools is None else [tools]))
