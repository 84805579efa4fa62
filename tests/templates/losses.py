"""Who is responsible for a difference: the template, or we.

The template lost a value if another value renders to the same bytes: then they cannot be distinguished. The other value, the
witness, is what we read: in place of the original value, it must render to the same reply. The template also lost a value if it
writes it without escapes and the value contains the text with which the template ends values.
"""

import copy
from decimal import Decimal

from read import same
from render import NEEDLE, Refused
from shapes import PROPERTIES

TRIMMED = ("text", "reasoning")


def differences(said, got):
    """What was read differently: (path, original, read). White space around text and reasoning is up to the template."""
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
    """The original turn, with the value at this path replaced by what was read."""
    turn = copy.deepcopy(said)
    if path[0] in TRIMMED:
        turn[path[0]] = got[path[0]].strip()
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
    """What the template writes after a string, up to the end of its first token."""
    written = template.write(NEEDLE, tools)[1].partition("needle in it")[2].lstrip()
    for i, char in enumerate(written):
        if char in ">]}\"'":
            return written[: i + 1]
    return ""


def judge(template, tools, said, got, reply):
    """The differences, each with who is responsible: (path, original, read, template or us)."""
    broken = breaks(template, tools, said, reply)
    out = []
    for one in differences(said, got):
        # A call broken by such a value is in the text.
        whose = "template" if (broken and len(one[0]) == 1) or lost(template, tools, said, got, one, reply) else "us"
        out.append((*one, whose))
    return out


def breaks(template, tools, said, reply):
    """Whether a value is written without escapes and contains the text with which the template ends values."""
    end = closer(template, tools)
    values = [value for call in said["calls"] for value in call["arguments"].values()]
    return bool(end) and any(isinstance(value, str) and end in value and value in reply for value in values)


def less(said, got, key):
    """Only what was left out, or moved between text and reasoning, can be the template's loss: additional text is leaked markup.
    """
    if key == "calls":
        rest = iter(call["name"] for call in said["calls"])
        return all(call["name"] in rest for call in got["calls"])
    return any(got[key].strip() in said[one] for one in TRIMMED)


def fits(name, key, value):
    """Whether the tool accepts such a value: a number that was read as text is not evidence of a loss."""
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
        turns.append({"text": got["text"].strip(), "reasoning": got["reasoning"].strip(), "calls": plain(got["calls"])})
    for turn in turns:
        try:
            if template.write(turn, tools)[1] == reply:
                return True
        except Refused:
            pass
    end = closer(template, tools)
    return bool(end) and isinstance(before, str) and before in reply and end in before
