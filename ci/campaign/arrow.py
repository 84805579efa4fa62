#!/usr/bin/env python3
"""Random Arrow columns through `toolglot.arrow.parse`: `arrow.py [COLUMNS [SEED]]`, 2000 columns from a random seed without arguments.
`ci/campaign/tally.py arrow` runs it with the built package.

Half of the columns are valid: every type of text, conversations, slices, chunks, nulls; the result must be that of `Engine.parse`, row by
row. The others are damaged in what the importer promises to check (formats, null pointers, counts, negative lengths and offsets, offsets
out of order, structures that were released): the only outcomes are a result and one of three exceptions. All memory must be returned.
Ends with a line for fuzz/ledger.jsonl.
"""

import ctypes
import gc
import json
import random
import sys

import pyarrow as pa
import toolglot
from toolglot import arrow

ENGINE = toolglot.Engine()
KINDS = ["string", "large_string", "string_view", "binary", "large_binary", "binary_view"]
PIECES = [
    "", "a", "Grüße ", "中文", "🙂", "<tool_call>", '{"name": "f", "arguments": {"a": 1}}', "</tool_call>", "<think>hm</think>", "\n",
    '<tool_call name="f"><param name="a">né</param></tool_call>', "words and more words ", "[TOOL_CALLS]", "```json\n", "x" * 300,
]  # fmt: skip
AUTHORS = ["assistant", "gpt", "user", "tool", "Assistant", "", None]
MODELS = ("assistant", "model", "gpt", "chatgpt", "bot", "ai", "function_call", "tool_call")
REFUSALS = (TypeError, ValueError, OSError)
# Bytes that each row has in the first buffer after the one of nulls.
WIDTHS = {b"u": 4, b"z": 4, b"+l": 4, b"U": 8, b"Z": 8, b"+L": 8, b"vu": 16, b"vz": 16}
# Formats with which no more bytes are read than there are. How long buffers are, an importer cannot know.
NARROWER = {
    b"u": [b"z"], b"z": [b"u"], b"U": [b"Z", b"u"], b"Z": [b"U", b"z"], b"vu": [b"vz"], b"vz": [b"vu"], b"+L": [b"+l", b"u"], b"+l": [b"u"],
}  # fmt: skip
NAMES = {"array": b"arrow_array", "schema": b"arrow_schema"}


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]

capsule = ctypes.pythonapi.PyCapsule_New
capsule.restype = ctypes.py_object
capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def text(chance):
    return "".join(chance.choices(PIECES, k=chance.randrange(5)))


def texts(chance, kind, count):
    rows = [None if chance.random() < 0.2 else text(chance) for _ in range(count)]
    return pa.array([row if row is None or "binary" not in kind else row.encode() for row in rows], getattr(pa, kind)())


def conversations(chance, kind, count):
    """A column of lists of messages, each with an author and a text among other fields."""
    author, body = chance.choice([("role", "content"), ("from", "value")])
    raw = (lambda text: text.encode()) if "binary" in kind else (lambda text: text)
    message = lambda: {"weight": 1, author: chance.choice(AUTHORS), body: raw(text(chance)) if chance.random() < 0.8 else None}
    rows = [
        None if chance.random() < 0.2 else [message() if chance.random() < 0.9 else None for _ in range(chance.randrange(4))]
        for _ in range(count)
    ]
    fields = [pa.field("weight", pa.int32()), pa.field(body, getattr(pa, kind)()), pa.field(author, pa.string())]
    chance.shuffle(fields)
    return pa.array(rows, chance.choice([pa.list_, pa.large_list])(pa.struct(fields)))


def made(chance):
    column = chance.choice([texts, conversations])(chance, chance.choice(KINDS), chance.randrange(20))
    if chance.random() < 0.6:
        start = chance.randrange(len(column) + 1)
        column = column.slice(start, chance.randrange(len(column) - start + 1))
    return column


def turn(row):
    """What the parser finds without Arrow, as far as it is compared."""
    if row is None:
        return None
    found = ENGINE.parse(row)
    return found.text, found.reasoning, [(call.name, call.arguments_json, call.grade) for call in found.calls]


def seen(row):
    return row and (row["text"], row["reasoning"], [(call["name"], call["arguments"], call["state"]) for call in row["calls"]])


def wanted(row):
    if not isinstance(row, list):
        return turn(row)
    said = []
    for message in row:
        author = message and (message.get("role") or message.get("from"))
        model = author and author.lower() in MODELS
        said.append(turn(message.get("content") if "content" in message else message.get("value")) if model else None)
    return said


def valid(chance):
    column = made(chance)
    given = column
    if chance.random() < 0.3:
        at = chance.randrange(len(column) + 1)
        given = pa.chunked_array([column[:at], column[:0], column[at:]], column.type)
    result = pa.array(arrow.parse(given, ENGINE))
    result.validate(full=True)
    found = [[seen(turn) for turn in row] if isinstance(row, list) else seen(row) for row in result.to_pylist()]
    expected = [wanted(row) for row in column.to_pylist()]
    if found != expected:
        sys.exit(f"another result than without Arrow for {column.to_pylist()}:\n{found}\n{expected}")


class Given:
    """An object with a damaged column, whose structures are returned by the functions that pyarrow put in them."""

    def __init__(self, column):
        self.schema, self.array = Schema(), Array()
        column._export_to_c(ctypes.addressof(self.array), ctypes.addressof(self.schema))
        self.kept = []
        # Each structure with the format that it really has.
        schemas = self.all(self.schema)
        self.schemas = [(of, of.format) for of in schemas]
        self.arrays = [(of, schema.format) for of, schema in zip(self.all(self.array), schemas, strict=True)]

    def __arrow_c_array__(self):
        give = lambda of, name: capsule(ctypes.addressof(of), name, None)
        return give(self.schema, NAMES["schema"]), give(self.array, NAMES["array"])

    def drop(self, of):
        """Releases what nobody has taken."""
        if of.release:
            RELEASE(of.release)(ctypes.addressof(of))

    def all(self, of):
        """A structure and those below it."""
        below = [of.children[at].contents for at in range(of.n_children)] if of.children else []
        return [of] + [one for child in below for one in self.all(child)]


def damage(chance, given):
    """Changes one field, and returns how to change it back, because pyarrow's own function reads some of them."""
    if chance.random() < 0.3:
        of, own = chance.choice(given.schemas)
        field = chance.choice(["format", "format", "n_children", "children", "name", "flags"])
        value = {
            "format": lambda: chance.choice([None, b"", b"+s", b"n", b"i", b"\xff\xfe", b"w:3", b"tdD", *NARROWER.get(own, [b"u", b"U", b"vu"])]),
            "n_children": lambda: chance.choice([-1, 0, -(2**63)] + list(range(of.n_children))),
            "children": lambda: ctypes.POINTER(ctypes.POINTER(Schema))(),
            "name": lambda: chance.choice([None, b"role", b"content", b"from", b"\xff"]),
            "flags": lambda: chance.getrandbits(62),
        }[field]()
    else:
        of, own = chance.choice(given.arrays)
        field = chance.choice(["length", "offset", "null_count", "n_buffers", "n_children", "buffers", "children", "buffer", "values", "child"])
        if field in ("buffer", "values", "child"):
            return inside(chance, of, own, field)
        value = {
            "length": lambda: chance.choice([-1, -(2**63), 0, of.length // 2]),
            "offset": lambda: chance.choice([-1, -(2**63)]),
            "null_count": lambda: chance.choice([-1, 0, 2**62, -(2**63)]),
            "n_buffers": lambda: chance.choice([-1, 0, -(2**63)] + list(range(of.n_buffers))),
            "n_children": lambda: chance.choice([-1, 0, -(2**63)] + list(range(of.n_children))),
            "buffers": lambda: ctypes.POINTER(ctypes.c_void_p)(),
            "children": lambda: ctypes.POINTER(ctypes.POINTER(Array))(),
        }[field]()
    before = ctypes.string_at(ctypes.addressof(of), ctypes.sizeof(of))
    setattr(of, field, value)
    given.kept.append(value)
    if of is given.schema or of is given.array:
        # `release` gives these back, wherever they are then.
        return lambda: None
    return lambda: ctypes.memmove(ctypes.addressof(of), before, len(before))


def inside(chance, of, own, field):
    """The same in a list of pointers or in the numbers of a buffer."""
    nothing = lambda: None
    if field == "child":
        if of.n_children <= 0 or not of.children:
            return nothing
        at = chance.randrange(of.n_children)
        child = ctypes.cast(of.children[at], ctypes.c_void_p).value
        slot = ctypes.cast(of.children, ctypes.POINTER(ctypes.c_void_p))
        slot[at] = None
        return lambda: slot.__setitem__(at, child)
    if of.n_buffers <= 0 or not of.buffers:
        return nothing
    slots = ctypes.cast(of.buffers, ctypes.POINTER(ctypes.c_void_p))
    at = chance.randrange(of.n_buffers)
    buffer = slots[at]
    if field == "buffer":
        slots[at] = None
        return lambda: slots.__setitem__(at, buffer)
    # The offsets or views of the array: a copy with one changed number.
    if at != 1 or not buffer or of.length <= 0 or of.offset < 0 or own not in WIDTHS:
        return nothing
    size = WIDTHS[own] * (of.offset + of.length + (own not in (b"vu", b"vz")))
    copy = ctypes.create_string_buffer(ctypes.string_at(buffer, size), size)
    numbers = ctypes.cast(copy, ctypes.POINTER(ctypes.c_int32))
    numbers[chance.randrange(WIDTHS[own] * of.offset, size) // 4] = chance.choice([-1, -(2**31), 0])
    slots[at] = ctypes.addressof(copy)
    return lambda: (slots.__setitem__(at, buffer), copy)


def damaged(chance):
    column = made(chance)
    given = Given(column)
    backs, released = [], []

    def wrap(of):
        """A producer's function that gives back what was changed, wherever it was moved to, before pyarrow's own function runs."""
        own, before = of.release, ctypes.string_at(ctypes.addressof(of), ctypes.sizeof(of))

        def release(address):
            while backs:
                backs.pop()()
            ctypes.memmove(address, before, len(before))
            released.append(address)
            RELEASE(own)(address)

        callback = RELEASE(release)
        given.kept.append(callback)
        of.release = ctypes.cast(callback, ctypes.c_void_p).value

    if chance.random() < 0.05:
        (given.drop(given.schema), given.drop(given.array)) if chance.random() < 0.5 else given.drop(given.array)
    else:
        wrap(given.schema)
        wrap(given.array)
        backs.extend(damage(chance, given) for _ in range(chance.randrange(1, 3)))
    try:
        arrow.parse(given, ENGINE)
        outcome = 1
    except REFUSALS:
        outcome = 0
    given.drop(given.schema)
    given.drop(given.array)
    if len(released) not in (0, 2):
        sys.exit(f"{len(released)} of 2 structures were returned")
    return outcome


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().getrandbits(40)
    print(f"seed {first}", flush=True)
    before, read = pa.total_allocated_bytes(), 0
    for seed in range(first, first + count):
        chance = random.Random(seed)
        if seed % 2:
            valid(chance)
        else:
            read += damaged(chance)
    gc.collect()
    if pa.total_allocated_bytes() != before:
        sys.exit(f"{pa.total_allocated_bytes() - before} bytes were not returned")
    print(json.dumps({"arrow": count, "seed": first, "valid": count // 2, "damaged": count - count // 2, "read": read}))


if __name__ == "__main__":
    main()
