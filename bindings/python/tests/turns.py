"""Turns and logs from events, for tests: written independently, so that the package is compared
with other code.
"""

import json
from decimal import Decimal

import toolglot as tg


def exact(text):
    """Parses JSON with numbers of any length, by value."""
    return json.loads(text, parse_int=Decimal, parse_float=Decimal)


def same(a, b):
    """Whether two JSON values are equal; `True` does not equal 1."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def turn_of(events):
    """Returns `(text, reasoning, calls, issues)`; a call is `(name, arguments as JSON)`."""
    text = reasoning = ""
    calls, issues, deltas = [], [], {}
    before = 0
    for event in events:
        match event:
            case tg.Text(piece):
                text += piece
            case tg.Reasoning(piece, framing=False):
                reasoning += piece
            case tg.BlockOpen():
                before = len(calls)
            case tg.BlockAbandoned():
                del calls[before:]
            case tg.CallOpen(number):
                deltas[number] = ""
            case tg.ArgDelta(number, json=piece):
                deltas[number] += piece
            case tg.CallClose(number, name, recovered=recovered):
                whole = event.arguments_json
                if whole is None:
                    whole = deltas[number]
                elif "duplicate_param" not in (recovered or []):
                    assert whole == deltas[number]
                calls.append((name, whole))
            case tg.Issue():
                issues.append(event)
    return text, reasoning, calls, issues


def joined(events):
    """The log with adjacent entries of one kind joined, so that it is the same however the input is
    chunked. Deltas of arguments and of parameters are joined separately.
    """
    log, arguments, values = [], {}, b""
    for event in events:
        match event:
            case tg.Text(piece, start, end, flag) | tg.Reasoning(piece, start, end, flag):
                kind = (type(event), flag)
            case tg.Protected(piece, name, start, end):
                kind = (type(event), name)
            case tg.Raw(piece, start, end):
                kind = (type(event), None)
            case tg.ArgDelta(number, piece):
                arguments[number] = arguments.get(number, "") + piece
                continue
            case tg.ParamDelta(piece):
                values += piece
                continue
            case _:
                log.append(event)
                continue
        last = log[-1] if log and isinstance(log[-1], tuple) else None
        if last and last[0] == kind and last[3] == start:
            log[-1] = (kind, last[1] + piece, last[2], end)
        else:
            log.append((kind, piece, start, end))
    return log, arguments, values
