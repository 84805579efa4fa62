"""Turns parameters of Python functions into JSON Schema, and arguments into what the function expects.

Pydantic models are recognised by their methods; nothing is imported for them.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import functools
import inspect
import json
import math
import pathlib
import re
import sys
import types
import typing
import uuid
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Optional, Union

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
    uuid.UUID: {"type": "string", "format": "uuid"},
    decimal.Decimal: {"type": "number"},
    pathlib.Path: {"type": "string"},
    pathlib.PurePath: {"type": "string"},
    getattr(typing, "LiteralString", str): {"type": "string"},
}
_SETS = (set, frozenset, collections.abc.Set, collections.abc.MutableSet)
_LISTS = (
    list,
    *_SETS,
    collections.abc.Sequence,
    collections.abc.MutableSequence,
    collections.abc.Collection,
    collections.abc.Iterable,
)
_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


class Signature:
    """The parameters of a function: their JSON Schema, and how to call the function with JSON arguments."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Reads type hints and the docstring. Raises `TypeError` for a parameter that a JSON object cannot supply."""
        self.function = function
        text = inspect.getdoc(function) or ""
        if inspect.isclass(function) or not hasattr(function, "__name__"):
            # A `functools.partial` has the docstring of its type; prefer that of the wrapped function.
            text = inspect.getdoc(getattr(function, "func", None)) or text if not inspect.isclass(function) else text
        self.description, said = _docstring(text)
        hints = _hints(function)
        self._definitions: dict[str, Any] = {}
        # Names of classes and aliases, definitions included; the name of an alias is taken before its definition is complete.
        self._names: dict[Any, str] = {}
        self._hints: dict[str, Any] = {}
        self._rest: Any = False
        self._rest_hint: Any = Any
        self._positional: dict[str, Any] = {}
        properties: dict[str, Any] = {}
        required: list[str] = []
        try:
            parameters = inspect.signature(function).parameters
        except ValueError as error:
            raise TypeError(f"{_name(function)}: {error}; describe the tool with toolglot.Tool(..., parameters=...)") from None
        for name, parameter in parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                self._rest_hint = hints.get(name, Any)
                self._rest = self._told(function, name, self._rest_hint) or True
                continue
            if parameter.kind is parameter.VAR_POSITIONAL:
                raise TypeError(f"{_name(function)}: *{name} has no name that a call could give")
            if parameter.kind is parameter.POSITIONAL_ONLY:
                self._positional[name] = parameter.default
            hint = hints.get(name, parameter.annotation)
            if parameter.default is None and not _nullable(hint):
                # The old spelling of an optional parameter.
                hint = Optional[hint]
            self._hints[name] = hint
            schema = self._told(function, name, hint)
            if "description" not in schema and name in said:
                schema = {**schema, "description": said[name]}
            if parameter.default is parameter.empty:
                required.append(name)
            elif _comes_back(hint, parameter.default):
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
        given = {name: convert(self._hints.get(name, self._rest_hint), value) for name, value in arguments.items()}
        first: list[Any] = []
        last = max((at for at, name in enumerate(self._positional) if name in given), default=-1)
        for name, default in [*self._positional.items()][: last + 1]:
            first.append(given.pop(name, default))
        return self.function(*first, **given)

    def _told(self, function: Any, name: str, hint: Any) -> dict[str, Any]:
        try:
            return self._schema(hint)
        except TypeError as error:
            raise TypeError(f"{_name(function)}: parameter {name}: {error}") from None

    def _schema(self, hint: Any) -> dict[str, Any]:
        hint = _own(hint)
        if _hashable(hint) and hint in _PLAIN:
            return dict(_PLAIN[hint])
        if _is_alias(hint):
            return self._alias(hint)
        made = getattr(hint, "model_json_schema", None)
        if callable(made):
            return self._lifted(made())
        origin, inside = typing.get_origin(hint), typing.get_args(hint)
        if origin is Annotated:
            return {**self._schema(inside[0]), **_annotations(inside[1:])}
        if origin is Literal:
            return _choice([one.value if isinstance(one, enum.Enum) else one for one in inside])
        if origin in (Union, types.UnionType):
            return self._union(inside)
        if origin is tuple:
            if len(inside) == 2 and inside[1] is Ellipsis:
                return {"type": "array", "items": self._schema(inside[0])}
            if inside in ((), ((),)):  # The second is what Python 3.10 gives for the empty tuple type.
                return {"type": "array"} if hint in (tuple, typing.Tuple) else {"type": "array", "maxItems": 0}
            items = [self._schema(one) for one in inside]
            return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
        origin = origin or hint
        if _among(origin, _LISTS):
            each = self._schema(inside[0]) if inside else {}
            schema = {"type": "array", "items": each} if each else {"type": "array"}
            return {**schema, "uniqueItems": True} if _among(origin, _SETS) else schema
        if _among(origin, _DICTS):
            each = self._schema(inside[1]) if inside else {}
            return {"type": "object", "additionalProperties": each or True}
        if inspect.isclass(hint) and issubclass(hint, enum.Enum):
            return _choice(list(_values(hint)))
        if _members(hint) is not None:
            return self._record(hint)
        if isinstance(hint, typing.TypeVar):
            return self._schema(hint.__bound__ or Any)
        raise TypeError(f"{hint!r} cannot be expressed in JSON Schema; describe the tool with toolglot.Tool(..., parameters=...)")

    def _union(self, hints: tuple[Any, ...]) -> dict[str, Any]:
        schemas = [self._schema(hint) for hint in hints]
        plain = [one["type"] for one in schemas if len(one) == 1 and isinstance(one.get("type"), str)]
        if len(plain) == len(schemas):
            return {"type": plain}
        return {"anyOf": schemas}

    def _record(self, hint: Any) -> dict[str, Any]:
        """A class with named members, by reference: it may be recursive."""
        if hint not in self._names:
            kind = typing.get_origin(hint) or hint
            name = self._names[hint] = self._free(str(kind.__name__))
            self._definitions[name] = {}
            schema: dict[str, Any] = {"type": "object"}
            description, said = _docstring(_written(kind))
            if description:
                schema["description"] = description
            members = _members(hint) or {}
            schema["properties"] = {
                key: {**self._schema(one), **({"description": said[key]} if key in said else {})} for key, one in members.items()
            }
            required = _required(kind, members)
            if required:
                schema["required"] = required
            schema["additionalProperties"] = False
            self._definitions[name] = schema
        return {"$ref": f"#/$defs/{self._names[hint]}"}

    def _alias(self, hint: Any) -> dict[str, Any]:
        """The type that an alias names, by reference if the alias is recursive."""
        if hint in self._names:
            name = self._names[hint]
            self._definitions.setdefault(name, {})
            return {"$ref": f"#/$defs/{name}"}
        name = self._names[hint] = self._free(str((typing.get_origin(hint) or hint).__name__))
        schema = self._schema(_meant(hint))
        if name not in self._definitions:
            del self._names[hint]
            return schema
        self._definitions[name] = schema
        return {"$ref": f"#/$defs/{name}"}

    def _free(self, name: str) -> str:
        """A name that no other definition has."""
        taken = {*self._definitions, *self._names.values()}
        return next(one for one in (name, *(f"{name}{at}" for at in range(2, len(taken) + 3))) if one not in taken)

    def _lifted(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema of a model, with its definitions moved to those of the function."""
        own = schema.get("$defs", {})
        renamed = {name: self._free(name) for name, one in own.items() if self._definitions.get(name, one) != one}
        text = json.dumps({key: one for key, one in schema.items() if key != "$defs"})
        more = json.dumps(own)
        for name, free in renamed.items():
            old, new = json.dumps(f"#/$defs/{name}"), json.dumps(f"#/$defs/{free}")
            text, more = text.replace(old, new), more.replace(old, new)
        self._definitions.update({renamed.get(name, name): one for name, one in json.loads(more).items()})
        return dict(json.loads(text))


def convert(hint: Any, value: Any) -> Any:
    """Converts a JSON value to what a hint asks for. A value that fits nothing stays as it is: it has been validated."""
    hint = _own(hint)
    while _is_alias(hint):
        hint = _own(_meant(hint))
    validate = getattr(hint, "model_validate", None)
    if callable(validate):
        return validate(value)
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return convert(inside[0], value)
    if origin in (Union, types.UnionType):
        return _converted(inside, value)
    if origin is Literal:
        named = [one for one in inside if isinstance(one, enum.Enum) and one.value == value]
        return named[0] if named and not _listed(inside, value) else value
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and hint in (datetime.datetime, datetime.date, datetime.time):
        return hint.fromisoformat(value.replace("Z", "+00:00") if hint is not datetime.date else value)
    if isinstance(value, str) and hint in (uuid.UUID, pathlib.Path, pathlib.PurePath):
        return hint(value)
    if hint is decimal.Decimal and isinstance(value, (int, float)):
        return decimal.Decimal(str(value))
    if inspect.isclass(hint) and issubclass(hint, enum.Enum):
        found = [one for key, one in _values(hint).items() if key == value and type(key) is type(value)]
        return found[0] if found else hint(value)
    if isinstance(value, list):
        return _sequence(hint, origin, inside, value)
    if isinstance(value, dict):
        if origin in _DICTS and inside:
            return {_key(inside[0], key): convert(inside[1], one) for key, one in value.items()}
        members = _members(hint)
        if members is not None:
            given = {key: convert(members.get(key, Any), one) for key, one in value.items()}
            return given if typing.is_typeddict(origin or hint) else (origin or hint)(**given)
    return value


def _key(hint: Any, key: str) -> Any:
    """Converts a key of a mapping; JSON keys are always text."""
    hint = _own(hint)
    if hint in (int, float):
        return hint(key)
    return convert(hint, key) if inspect.isclass(hint) and issubclass(hint, enum.Enum) else key


def _sequence(hint: Any, origin: Any, inside: tuple[Any, ...], value: list[Any]) -> Any:
    kind = origin or hint
    if kind is tuple:
        each = [inside[0]] * len(value) if len(inside) == 2 and inside[1] is Ellipsis else [*inside, *[Any] * len(value)]
        return tuple(convert(one, item) for one, item in zip(each, value, strict=False))
    items = [convert(inside[0], item) for item in value] if _among(kind, _LISTS) and inside else value
    if _among(kind, _SETS):
        return frozenset(items) if kind is frozenset else set(items)
    return items


def _converted(hints: tuple[Any, ...], value: Any) -> Any:
    """Converts to the first member of a union that the value fits."""
    for hint in hints:
        try:
            made = convert(hint, value)
            if made is not value or _fits(hint, value):
                return made
        except (TypeError, ValueError, ArithmeticError):
            continue
    return value


def _fits(hint: Any, value: Any) -> bool:
    hint = _own(hint)
    while typing.get_origin(hint) is Annotated:
        hint = _own(typing.get_args(hint)[0])
    kind = typing.get_origin(hint) or hint
    if kind in (None, type(None)):
        return value is None
    if kind is Literal:
        return _listed(typing.get_args(hint), value)
    if kind in (Any, object):
        return True
    if kind is int and isinstance(value, bool):
        return False
    return not inspect.isclass(kind) or isinstance(value, kind)


def _listed(values: tuple[Any, ...], value: Any) -> bool:
    """Whether the value is one of these; unlike in Python, `True` does not equal 1."""
    return any(one == value and type(one) is type(value) for one in values)


def _docstring(text: str) -> tuple[str, dict[str, str]]:
    """What a docstring says about the function and its parameters (in Google, NumPy or Sphinx style)."""
    said = {name: " ".join(words.split()) for name, words in _SPHINX.findall(text)}
    text = re.split(r"^:\w[^:\n]*:", text, maxsplit=1, flags=re.MULTILINE)[0]
    head, *rest = _SECTION.split(text, maxsplit=1)
    section = rest[-1] if rest else ""
    body = re.split(_NEXT, section, maxsplit=1)[0]
    entry: list[str] = []
    base: int | None = None
    for line in body.split("\n"):
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        base = indent if base is None else base
        found = _PARAMETER.match(line.strip()) if indent <= base else None
        if found:
            entry = [name.strip("* ") for name in found[1].split(",")]
            said.update({name: found[2].strip() for name in entry})
        else:
            said.update({name: f"{said[name]} {line.strip()}".strip() for name in entry})
    return " ".join(head.split()), {name: words for name, words in said.items() if words}


_SPHINX = re.compile(r"^:param (?:[^:\n]* )?(\w+):((?:.*)(?:\n[ \t]+.*)*)", re.MULTILINE)
_SECTION = re.compile(
    r"^[ \t]*(?:Args|Arguments|Parameters|Params):?[ \t]*\n(?:[ \t]*-{3,}[ \t]*\n)?", re.MULTILINE
)
_NEXT = re.compile(r"^[ \t]*(?:Returns?|Raises|Yields?|Examples?|Notes?|See Also|Warnings?|References):?[ \t]*\n", re.MULTILINE)
# `name: words`, `name (type): words`, or NumPy's `name : type` with the description on the next lines.
_PARAMETER = re.compile(r"(\*{0,2}\w+(?:,[ ]*\*{0,2}\w+)*)(?:[ ]:.*$|[ ]*\([^)]*\)?\)?:|:)?(.*)$")


def _annotations(more: tuple[Any, ...]) -> dict[str, Any]:
    """The metadata of an annotated type: a string is its description; pydantic fields and `annotated_types` say more."""
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


def _values(kind: type[enum.Enum]) -> dict[Any, enum.Enum]:
    """The members of an enum by their JSON value: their value, or their name if a value is neither text nor a number."""
    plain = all(_is_json(one.value) and not isinstance(one.value, (list, tuple, dict)) for one in kind)
    return {one.value if plain else one.name: one for one in kind}


def _own(hint: Any) -> Any:
    """Strips what does not change the values: new types, markers of members."""
    while True:
        if hasattr(hint, "__supertype__"):
            hint = hint.__supertype__
        elif isinstance(hint, dataclasses.InitVar):
            hint = hint.type
        elif getattr(typing.get_origin(hint), "_name", "") in ("Required", "NotRequired", "Final", "ClassVar", "ReadOnly"):
            hint = typing.get_args(hint)[0]
        else:
            return hint


def _is_alias(hint: Any) -> bool:
    return type(typing.get_origin(hint) or hint).__name__ == "TypeAliasType"


@functools.lru_cache(256)
def _meant(alias: Any) -> Any:
    """The type that an alias names; the alias may refer to itself by a string."""
    kind = typing.get_origin(alias) or alias
    scope = {**vars(sys.modules.get(kind.__module__, typing)), kind.__name__: kind}
    held: Any = lambda value: value  # noqa: E731
    held.__annotations__ = {"value": kind.__value__}
    try:
        value = typing.get_type_hints(held, scope, include_extras=True)["value"]
    except NameError as error:
        raise TypeError(f"{kind.__name__}: a type hint cannot be looked up: {error}") from None
    return _filled(value, dict(zip(kind.__type_params__, typing.get_args(alias), strict=False)))


def _filled(hint: Any, given: Mapping[Any, Any]) -> Any:
    """A hint with its type variables replaced."""
    if isinstance(hint, typing.TypeVar):
        return given.get(hint, hint)
    free = getattr(hint, "__parameters__", ())
    if not given or not free or inspect.isclass(hint):
        return hint
    return hint[tuple(given.get(one, one) for one in free)]


def _nullable(hint: Any) -> bool:
    hint = _own(hint)
    if hint in (None, type(None), Any, object, inspect.Parameter.empty):
        return True
    if _is_alias(hint):
        return _nullable(_meant(hint))
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return _nullable(inside[0])
    return None in inside if origin is Literal else origin in (Union, types.UnionType) and any(map(_nullable, inside))


def _among(kind: Any, kinds: tuple[Any, ...]) -> bool:
    return any(kind is one for one in kinds)


def _hints(thing: Any) -> dict[str, Any]:
    """The type hints; those given as strings are resolved where possible."""
    inner = getattr(thing, "func", thing)
    if not inspect.isclass(inner) and not inspect.isroutine(inner) and hasattr(type(inner), "__call__"):
        inner = type(inner).__call__
    if inspect.isclass(inner) and not dataclasses.is_dataclass(inner) and not typing.is_typeddict(inner) and not hasattr(inner, "_fields"):
        inner = inner.__init__
    try:
        return typing.get_type_hints(inner, include_extras=True)
    except NameError as error:
        raise TypeError(f"{_name(thing)}: a type hint cannot be looked up: {error}") from None


def _members(hint: Any) -> dict[str, Any] | None:
    """The members of a dataclass, a typed dictionary or a named tuple; `None` for anything else."""
    kind = typing.get_origin(hint) or hint
    if not inspect.isclass(kind):
        return None
    if dataclasses.is_dataclass(kind):
        fields = kind.__dataclass_fields__
        found = _hints(kind)
        # Parameters that only `__init__` takes are included.
        names = [name for name, one in fields.items() if one.init and getattr(one, "_field_type", None) is not _CLASS_FIELD]
    elif typing.is_typeddict(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
        found = _hints(kind)
        names = list(getattr(kind, "_fields", found))
    else:
        return None
    given = dict(zip(getattr(kind, "__parameters__", ()), typing.get_args(hint), strict=False))
    return {name: _filled(found.get(name, Any), given) for name in names}


_CLASS_FIELD = getattr(dataclasses, "_FIELD_CLASSVAR", None)


def _required(kind: Any, members: dict[str, Any]) -> list[str]:
    if dataclasses.is_dataclass(kind):
        return [name for name in members if _needed(kind.__dataclass_fields__[name])]
    if typing.is_typeddict(kind):
        # Python does not see these markers in hints that are strings.
        marks = {name: getattr(typing.get_origin(one), "_name", "") for name, one in members.items()}
        return [name for name in members if marks[name] == "Required" or marks[name] != "NotRequired" and name in kind.__required_keys__]
    return [name for name in members if name not in getattr(kind, "_field_defaults", {})]


def _needed(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _written(hint: Any) -> str:
    """The docstring that somebody wrote. A dataclass without one gets its signature as docstring, which is ignored."""
    text = inspect.getdoc(hint) if hint.__doc__ else ""
    return "" if not text or text.startswith(f"{hint.__name__}(") else text


def _is_json(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(one) for key, one in value.items())
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, (str, int)) and not isinstance(value, enum.Enum)


def _comes_back(hint: Any, value: Any) -> bool:
    """Whether a default can be written in JSON and read back as the same value."""
    try:
        return _is_json(value) and bool(convert(hint, json.loads(json.dumps(value))) == value)
    except (TypeError, ValueError):
        return False


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _name(thing: Any) -> str:
    return str(getattr(thing, "__name__", None) or getattr(getattr(thing, "func", None), "__name__", type(thing).__name__))
