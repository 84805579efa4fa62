"""Whose loss a difference is: the template's, or ours.

The template lost a value if another value renders to the same bytes: nobody can tell them apart then. The witness is what we read:
put in the place of what was said, it must render to the same reply. And the template lost a value if it writes it without escapes
and the value holds what the template ends values with.
"""

import copy
from decimal import Decimal

from read import same
from render import NEEDLE, Refused
from shapes import PROPERTIES

TRIMMED = ("text", "reasoning")


def differences(said, got):
    """What was read otherwise: (path, what was said, what was read). White space around text and thoughts is a template's to set."""
    out = []
    for key in TRIMMED:
        if said[key].strip() != got[key].strip():
            out.append(((key,), said[key], got[key]))
    names = [call["name"] for call in said["calls"]], [call["name"] for call in got["calls"]]
    if names[0] != names[1]:
        return out + [(("calls",), names[0], names[1])]
    for i, (a, b) in enumerate(zip(said["calls"], got["calls"])):
        for key in sorted({*a["arguments"], *b["arguments"]}):
            missing = object()
            x, y = a["arguments"].get(key, missing), b["arguments"].get(key, missing)
            if x is missing or y is missing or not same(x, y):
                out.append((("calls", i, key), None if x is missing else x, None if y is missing else y))
    return out


def plain(value):
    """Decimals are for comparing; a template gets what a server would give it."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and "E" not in str(value) else float(value)
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value


def witness(said, got, path):
    """The turn that was said, with what was read at this place."""
    turn = copy.deepcopy(said)
    if path[0] in TRIMMED:
        turn[path[0]] = got[path[0]]
    elif path == ("calls",):
        turn["calls"] = plain(got["calls"])
    else:
        _, i, key = path
        arguments = turn["calls"][i]["arguments"]
        if key in got["calls"][i]["arguments"]:
            arguments[key] = plain(got["calls"][i]["arguments"][key])
        else:
            arguments.pop(key, None)
    return turn


def closer(template, tools):
    """What the template writes after a string: up to the end of its first token."""
    written = template.write(NEEDLE, tools)[1].partition("needle in it")[2].lstrip()
    for i, char in enumerate(written):
        if char in ">]}\"'":
            return written[: i + 1]
    return ""


def judge(template, tools, said, got, reply):
    """The differences, each with whose loss it is: (path, said, read, template or us)."""
    broken = breaks(template, tools, said, reply)
    out = []
    for one in differences(said, got):
        # A call that such a value broke stands in the text.
        whose = "template" if (broken and len(one[0]) == 1) or lost(template, tools, said, got, one, reply) else "us"
        out.append((*one, whose))
    return out


def breaks(template, tools, said, reply):
    """Whether a value is written without escapes and holds what the template ends values with."""
    end = closer(template, tools)
    values = [value for call in said["calls"] for value in call["arguments"].values()]
    return bool(end) and any(isinstance(value, str) and end in value and value in reply for value in values)


def less(said, got, key):
    """Only what was left out, or moved between text and thoughts, can be lost: text that was read besides is markup that leaked."""
    if key == "calls":
        rest = iter(call["name"] for call in said["calls"])
        return all(call["name"] in rest for call in got["calls"])
    return any(got[key].strip() in said[one] for one in TRIMMED)


def fits(name, key, value):
    """Whether the tool allows such a value: a number that was read as text is no witness that nobody could have known better."""
    schema = PROPERTIES[name].get(key, {})
    if value is None:
        return schema.get("nullable", False)
    kinds = {"string": str, "boolean": bool, "integer": int, "number": (int, float, Decimal), "array": list, "object": dict}
    return isinstance(value, kinds[schema["type"]]) if schema else False


def lost(template, tools, said, got, difference, reply):
    path, before, after = difference
    if len(path) == 1 and not less(said, got, path[0]):
        return False
    if len(path) == 3 and not fits(said["calls"][path[1]]["name"], path[2], after):
        return False
    turns = [witness(said, got, path)]
    if all(less(said, got, key) for key in (*TRIMMED, "calls")):
        turns.append({**got, "calls": plain(got["calls"])})
    for turn in turns:
        try:
            if template.write(turn, tools)[1] == reply:
                return True
        except Refused:
            pass
    end = closer(template, tools)
    return bool(end) and isinstance(before, str) and before in reply and end in before
