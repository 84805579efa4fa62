"""Parameters of Python functions as JSON Schema, and arguments back into what the function wants.

Pydantic models are known by their methods; nothing is imported for them.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import enum
import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Union

_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    None: {"type": "null"},
    type(None): {"type": "null"},
    Any: {},
    object: {},
    inspect.Parameter.empty: {},
    list: {"type": "array"},
    tuple: {"type": "array"},
    set: {"type": "array", "uniqueItems": True},
    frozenset: {"type": "array", "uniqueItems": True},
    dict: {"type": "object"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.time: {"type": "string", "format": "time"},
}
_LISTS = (list, set, frozenset, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Set)
_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


class Signature:
    """What a function takes: its JSON Schema, and the way from arguments to a call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Reads type hints and the docstring. Raises `TypeError` for a parameter that no object can give."""
        self.function = function
        text = inspect.getdoc(function) or ""
        if inspect.isclass(function) or not hasattr(function, "__name__"):
            # A class, an object that can be called, a `functools.partial`: its own docstring says little.
            text = inspect.getdoc(getattr(function, "func", None)) or text if not inspect.isclass(function) else text
        self.description, said = _docstring(text)
        hints = _hints(function)
        self._definitions: dict[str, Any] = {}
        self._hints: dict[str, Any] = {}
        self._rest = False
        self._positional: list[str] = []
        properties: dict[str, Any] = {}
        required: list[str] = []
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                self._rest = True
                continue
            if parameter.kind is parameter.VAR_POSITIONAL:
                raise TypeError(f"{_name(function)}: *{name} has no name that a call could give")
            if parameter.kind is parameter.POSITIONAL_ONLY:
                self._positional.append(name)
            hint = hints.get(name, parameter.annotation)
            self._hints[name] = hint
            try:
                schema = self._schema(hint)
            except TypeError as error:
                raise TypeError(f"{_name(function)}: parameter {name}: {error}") from None
            if "description" not in schema and name in said:
                schema = {**schema, "description": said[name]}
            if parameter.default is parameter.empty:
                required.append(name)
            elif _is_json(parameter.default):
                schema = {**schema, "default": parameter.default}
            properties[name] = schema
        self.schema: dict[str, Any] = {"type": "object", "properties": properties}
        if required:
            self.schema["required"] = required
        self.schema["additionalProperties"] = self._rest
        if self._definitions:
            self.schema["$defs"] = self._definitions

    def call(self, arguments: Mapping[str, Any]) -> Any:
        """Calls the function with arguments as JSON has them."""
        given = {name: convert(self._hints.get(name, Any), value) for name, value in arguments.items()}
        first = []
        for name in self._positional:
            if name not in given:
                break
            first.append(given.pop(name))
        return self.function(*first, **given)

    def _schema(self, hint: Any) -> dict[str, Any]:
        hint = _own(hint)
        if _hashable(hint) and hint in _PLAIN:
            return dict(_PLAIN[hint])
        made = getattr(hint, "model_json_schema", None)
        if callable(made):
            return self._lifted(made())
        origin, inside = typing.get_origin(hint), typing.get_args(hint)
        if origin is Annotated:
            return {**self._schema(inside[0]), **_annotations(inside[1:])}
        if origin is Literal:
            return _choice(list(inside))
        if origin in (Union, types.UnionType):
            return self._union(inside)
        if origin is tuple:
            if len(inside) == 2 and inside[1] is Ellipsis:
                return {"type": "array", "items": self._schema(inside[0])}
            items = [self._schema(one) for one in inside]
            return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
        if origin in _LISTS:
            schema = {"type": "array", "items": self._schema(inside[0] if inside else Any)}
            return {**schema, "uniqueItems": True} if origin in (set, frozenset, collections.abc.Set) else schema
        if origin in _DICTS:
            return {"type": "object", "additionalProperties": self._schema(inside[1]) or True}
        if inspect.isclass(hint) and issubclass(hint, enum.Enum):
            return _choice([one.value for one in hint])
        if dataclasses.is_dataclass(hint) and inspect.isclass(hint):
            return self._record(hint, [field.name for field in dataclasses.fields(hint) if field.init and _needed(field)])
        if typing.is_typeddict(hint):
            return self._record(hint, sorted(hint.__required_keys__))
        if isinstance(hint, typing.TypeVar):
            return self._schema(hint.__bound__ or Any)
        raise TypeError(f"{hint!r} is nothing that JSON Schema can say; describe the tool with toolglot.Tool(..., parameters=...)")

    def _union(self, hints: tuple[Any, ...]) -> dict[str, Any]:
        schemas = [self._schema(hint) for hint in hints]
        plain = [one["type"] for one in schemas if len(one) == 1 and isinstance(one.get("type"), str)]
        if len(plain) == len(schemas):
            return {"type": plain}
        return {"anyOf": schemas}

    def _record(self, hint: Any, required: list[str]) -> dict[str, Any]:
        """A class with named members, by reference: it may hold itself."""
        name = str(hint.__name__)
        if name not in self._definitions:
            self._definitions[name] = {}
            schema: dict[str, Any] = {"type": "object"}
            description, said = _docstring(_written(hint))
            if description:
                schema["description"] = description
            members = _members(hint)
            schema["properties"] = {
                key: {**self._schema(one), **({"description": said[key]} if key in said else {})} for key, one in members.items()
            }
            if required:
                schema["required"] = [key for key in members if key in required]
            schema["additionalProperties"] = False
            self._definitions[name] = schema
        return {"$ref": f"#/$defs/{name}"}

    def _lifted(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema of a model, its definitions moved to those of the function."""
        schema = dict(schema)
        self._definitions.update(schema.pop("$defs", {}))
        return schema


def convert(hint: Any, value: Any) -> Any:
    """A value of JSON as what a hint asks for. What fits nothing stays as it is: it was validated."""
    hint = _own(hint)
    validate = getattr(hint, "model_validate", None)
    if callable(validate):
        return validate(value)
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return convert(inside[0], value)
    if origin in (Union, types.UnionType):
        return _converted(inside, value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and hint in (datetime.datetime, datetime.date, datetime.time):
        return hint.fromisoformat(value.replace("Z", "+00:00") if hint is not datetime.date else value)
    if inspect.isclass(hint) and issubclass(hint, enum.Enum):
        return hint(value)
    if isinstance(value, list):
        return _sequence(hint, origin, inside, value)
    if isinstance(value, dict):
        if origin in _DICTS:
            return {key: convert(inside[1], one) for key, one in value.items()}
        members = _members(hint) if dataclasses.is_dataclass(hint) or typing.is_typeddict(hint) else None
        if members is not None:
            given = {key: convert(members.get(key, Any), one) for key, one in value.items()}
            return given if typing.is_typeddict(hint) else hint(**given)
    return value


def _sequence(hint: Any, origin: Any, inside: tuple[Any, ...], value: list[Any]) -> Any:
    if (origin or hint) is tuple:
        each = [inside[0]] * len(value) if len(inside) == 2 and inside[1] is Ellipsis else [*inside, *[Any] * len(value)]
        return tuple(convert(one, item) for one, item in zip(each, value, strict=False))
    items = [convert(inside[0], item) for item in value] if origin in _LISTS and inside else value
    kind = origin or hint
    if kind in (set, frozenset):
        return kind(items)
    return set(items) if kind is collections.abc.Set else items


def _converted(hints: tuple[Any, ...], value: Any) -> Any:
    """As the first member of a union that the value fits."""
    for hint in hints:
        try:
            made = convert(hint, value)
        except (TypeError, ValueError):
            continue
        if made is not value or _fits(hint, value):
            return made
    return value


def _fits(hint: Any, value: Any) -> bool:
    kind = typing.get_origin(hint) or hint
    if kind in (None, type(None)):
        return value is None
    if kind is Literal:
        return value in typing.get_args(hint)
    return not inspect.isclass(kind) or isinstance(value, kind)


def _docstring(text: str) -> tuple[str, dict[str, str]]:
    """What a docstring says of the function, and of its parameters (in Google's, NumPy's or Sphinx's way)."""
    said = {name: " ".join(words.split()) for name, words in _SPHINX.findall(text)}
    text = re.split(r"^:\w[^:\n]*:", text, maxsplit=1, flags=re.MULTILINE)[0]
    head, *rest = _SECTION.split(text, maxsplit=1)
    section = rest[-1] if rest else ""
    body = re.split(_NEXT, section, maxsplit=1)[0]
    entry = ""
    base: int | None = None
    for line in body.split("\n"):
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        base = indent if base is None else base
        found = _PARAMETER.match(line.strip()) if indent <= base else None
        if found:
            entry = found[1]
            said[entry] = found[2].strip()
        elif entry:
            said[entry] = f"{said[entry]} {line.strip()}".strip()
    return " ".join(head.split()), {name: words for name, words in said.items() if words}


_SPHINX = re.compile(r"^:param (?:[^:\n]* )?(\w+):((?:.*)(?:\n[ \t]+.*)*)", re.MULTILINE)
_SECTION = re.compile(
    r"^[ \t]*(?:Args|Arguments|Parameters|Params):?[ \t]*\n(?:[ \t]*-{3,}[ \t]*\n)?", re.MULTILINE
)
_NEXT = re.compile(r"^[ \t]*(?:Returns?|Raises|Yields?|Examples?|Notes?|See Also|Warnings?|References):?[ \t]*\n", re.MULTILINE)
# `name: words`, `name (type): words`, or NumPy's `name : type` with the words below.
_PARAMETER = re.compile(r"\*{0,2}(\w+)(?:[ ]:.*$|[ ]*\([^)]*\)?\)?:|:)?(.*)$")


def _annotations(more: tuple[Any, ...]) -> dict[str, Any]:
    """What stands beside a type: a text is its description; pydantic's fields and `annotated_types` say more."""
    out: dict[str, Any] = {}
    names = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum", "multiple_of": "multipleOf"}
    for one in more:
        if isinstance(one, str):
            out["description"] = one
            continue
        if isinstance(getattr(one, "description", None), str):
            out["description"] = one.description
        for part in [one, *(getattr(one, "metadata", None) or [])]:
            out.update({key: value for name, key in names.items() if (value := getattr(part, name, None)) is not None})
            if isinstance(getattr(part, "pattern", None), str):
                out["pattern"] = part.pattern
    return out


def _choice(values: list[Any]) -> dict[str, Any]:
    kinds = {type(value) for value in values}
    kind = _PLAIN.get(kinds.pop(), {}) if len(kinds) == 1 else {}
    return {**kind, "enum": values}


def _own(hint: Any) -> Any:
    """Without what does not change the values: aliases, new types, markers of members."""
    while True:
        if hasattr(hint, "__supertype__"):
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":
            hint = hint.__value__
        elif getattr(typing.get_origin(hint), "_name", "") in ("Required", "NotRequired", "Final", "ClassVar", "ReadOnly"):
            hint = typing.get_args(hint)[0]
        else:
            return hint


def _hints(thing: Any) -> dict[str, Any]:
    """The type hints, with those that are text looked up where it can be done."""
    inner = getattr(thing, "func", thing)
    if not inspect.isclass(inner) and not inspect.isroutine(inner) and hasattr(type(inner), "__call__"):
        inner = type(inner).__call__
    if inspect.isclass(inner) and not dataclasses.is_dataclass(inner) and not typing.is_typeddict(inner):
        inner = inner.__init__
    try:
        return typing.get_type_hints(inner, include_extras=True)
    except NameError as error:
        raise TypeError(f"{_name(thing)}: a type hint cannot be looked up: {error}") from None


def _members(hint: Any) -> dict[str, Any]:
    hints = _hints(hint)
    if dataclasses.is_dataclass(hint):
        return {field.name: hints[field.name] for field in dataclasses.fields(hint) if field.init}
    return hints


def _needed(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _written(hint: Any) -> str:
    """The docstring that somebody wrote: that of a dataclass is made of its signature where there is none."""
    text = inspect.getdoc(hint) if hint.__doc__ else ""
    return "" if not text or text.startswith(f"{hint.__name__}(") else text


def _is_json(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(one) for key, one in value.items())
    return value is None or isinstance(value, (str, int, float, bool)) and not isinstance(value, enum.Enum)


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _name(thing: Any) -> str:
    return str(getattr(thing, "__name__", None) or getattr(getattr(thing, "func", None), "__name__", type(thing).__name__))
