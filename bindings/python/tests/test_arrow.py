"""Columns in and out, with the installed Arrow libraries; tests without their library are skipped with a message."""

import gc
import threading

import pytest
import toolglot as tg

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed, so no columns were parsed")
arrow = pytest.importorskip("toolglot.arrow")

CALL = '<tool_call name="f"><param name="a">né</param></tool_call>'
ROWS = [f"Grüße {CALL}", None, "", "plain", f"<think>hm</think>{CALL}{CALL}", '<tool_call name="g">', None, "a" * 40]
TYPES = ["string", "large_string", "string_view", "binary", "large_binary", "binary_view"]
ENGINE = tg.Engine()


def column(rows, kind="string"):
    raw = [row.encode() if row is not None and "binary" in kind else row for row in rows]
    return pa.array(raw, getattr(pa, kind)())


def expected(row, columns=arrow.COLUMNS):
    """The result of the parser without Arrow."""
    if row is None:
        return None
    turn = ENGINE.parse(row)
    calls = [
        {
            "name": call.name,
            "arguments": call.arguments_json,
            "state": call.grade,
            "id": call.meta.get("id"),
            "dialect": call.dialect,
            "start": call.start,
            "end": call.end,
        }
        for call in turn.calls
    ]
    errors = [
        {"kind": e.kind, "severity": e.severity, "message": e.message, "start": e.start, "end": e.end} for e in turn.errors
    ]
    whole = {"text": turn.text, "reasoning": turn.reasoning, "calls": calls, "errors": errors}
    return {name: whole[name] for name in columns}


@pytest.mark.parametrize("kind", TYPES)
def test_types(kind):
    turns = arrow.parse(column(ROWS, kind), ENGINE)
    assert len(turns) == len(ROWS)
    made = pa.array(turns)
    made.validate(full=True)
    assert made.to_pylist() == [expected(row) for row in ROWS]
    assert made.null_count == 2


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("cut", [(0, 8), (1, 3), (3, 5), (7, 1), (8, 0), (4, 2)])
def test_slices(kind, cut):
    # Long enough that the null mask is split inside its bytes too.
    rows = (ROWS * 5)[3:]
    part = column(rows, kind).slice(cut[0] + 9, cut[1])
    made = pa.array(arrow.parse(part, ENGINE))
    made.validate(full=True)
    assert made.to_pylist() == [expected(row) for row in rows[cut[0] + 9 : cut[0] + 9 + cut[1]]]


def test_streams():
    chunks = pa.chunked_array([ROWS[:3], [], ROWS[3:]], pa.string())
    assert pa.array(arrow.parse(chunks, ENGINE)).to_pylist() == [expected(row) for row in ROWS]
    assert len(arrow.parse(pa.chunked_array([], pa.string()))) == 0
    assert pa.array(arrow.parse(pa.nulls(3))).to_pylist() == [None] * 3


def test_table():
    turns = arrow.parse(column(ROWS), ENGINE)
    table = pa.table(turns)
    table.validate(full=True)
    assert table.schema.metadata == {b"toolglot.schema": b"1"}
    assert table.column_names == list(arrow.COLUMNS) and table.num_rows == len(ROWS)
    assert table.column("text").to_pylist() == [row and expected(row)["text"] if row != "" else "" for row in ROWS]
    assert pa.field(turns).type == pa.array(turns).type
    # A result can be exported any number of times, and the exports outlive it.
    again = pa.array(turns)
    del turns
    gc.collect()
    assert again.to_pylist() == [expected(row) for row in ROWS]


def test_columns_and_options():
    only = pa.array(arrow.parse(column(ROWS), ENGINE, columns=["calls"]))
    assert only.to_pylist() == [expected(row, ["calls"]) for row in ROWS]
    with pytest.raises(ValueError, match="there is no \"cals\"; there are text, reasoning, calls, errors"):
        arrow.parse(column(ROWS), columns=["cals"])
    with pytest.raises(ValueError, match="it is one of 'stop'"):
        arrow.parse(column(ROWS), finish="x")
    tools = [{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}]
    typed = pa.array(arrow.parse(column([CALL.replace("né", "7")]), tg.Engine(tools=tools)))
    assert typed[0]["calls"][0]["arguments"].as_py() == '{"a":7}'


def test_bad_columns():
    with pytest.raises(TypeError, match="__arrow_c_array__ or __arrow_c_stream__ is needed, not list"):
        arrow.parse(["x"])
    for wrong in (
        pa.array([1]),
        pa.array(["a"]).dictionary_encode(),
        pa.array([{"a": "b"}]),
        pa.table({"a": ["b"]}),
        pa.array([["a"]]),
        pa.array([[{"role": 1, "content": "a"}]]),
        pa.array([[{"role": "user", "content": ["a"]}]]),
    ):
        with pytest.raises(TypeError, match="column: text or bytes are needed"):
            arrow.parse(wrong)

    class Twice:
        def __init__(self):
            self.capsules = pa.array(["x"]).__arrow_c_array__()

        def __arrow_c_array__(self):
            return self.capsules

    twice = Twice()
    assert len(arrow.parse(twice)) == 1
    with pytest.raises(ValueError, match="already consumed"):
        arrow.parse(twice)

    class Lies:
        def __arrow_c_array__(self):
            return object(), object()

    with pytest.raises(TypeError):
        arrow.parse(Lies())


def test_nothing_leaks():
    before = pa.total_allocated_bytes()
    for _ in range(50):
        turns = arrow.parse(column(ROWS * 20), ENGINE)
        # Capsules that are never consumed are freed too.
        turns.__arrow_c_array__(), turns.__arrow_c_stream__(), turns.__arrow_c_schema__()
        pa.array(turns), pa.table(turns)
    del turns
    gc.collect()
    assert pa.total_allocated_bytes() == before


def test_other_threads_run():
    big = column(["word " * 2000] * 20_000)
    ticks = []
    done = threading.Event()

    def tick():
        while not done.wait(0.001):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    arrow.parse(big, ENGINE, columns=["calls"])
    done.set()
    thread.join()
    assert len(ticks) > 3


TALKS = [
    [("system", "You have tools."), ("user", CALL), ("assistant", ROWS[0]), ("tool", "sunny"), ("Assistant", None)],
    None,
    [],
    [("user", None), ("assistant", ROWS[4])],
    [("human", "hm"), ("gpt", CALL), (None, CALL), None],
    [("assistant", "a" * 40)] * 9,
]
MODEL = ("assistant", "Assistant", "gpt")
SHAPES = [("role", "content"), ("from", "value")]


def talks(author, text, kind="string", lists="list_", rows=TALKS):
    data = [row and [m and {"weight": 1, author: m[0], text: m[1]} for m in row] for row in rows]
    texts = pa.field(text, getattr(pa, kind)())
    message = pa.struct([pa.field("weight", pa.int32()), texts, pa.field(author, pa.string())])
    return pa.array(data, getattr(pa, lists)(message))


def answers(rows=TALKS, columns=arrow.COLUMNS):
    own = [row if row is None else [m[1] if m and m[0] in MODEL else None for m in row] for row in rows]
    return [row if row is None else [expected(text, columns) for text in row] for row in own]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("lists", ["list_", "large_list"])
@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "binary"])
def test_conversations(shape, lists, kind):
    def raw(row):
        return row and [m and (m[0], m[1].encode() if m[1] and kind == "binary" else m[1]) for m in row]

    column = talks(*shape, kind, lists, [raw(row) for row in TALKS])
    turns = arrow.parse(column, ENGINE)
    assert len(turns) == len(TALKS)
    made = pa.array(turns)
    made.validate(full=True)
    assert made.to_pylist() == answers()
    assert pa.field(turns).type == made.type
    streamed = pa.chunked_array(turns)
    streamed.validate(full=True)
    assert streamed.to_pylist() == answers()


@pytest.mark.parametrize("cut", [(0, 6), (1, 3), (2, 4), (3, 2), (5, 1), (6, 0)])
def test_slices_of_conversations(cut):
    rows = (TALKS * 4)[1:]
    column = talks("from", "value", rows=rows)
    part = column.slice(cut[0] + 7, cut[1])
    made = pa.array(arrow.parse(part, ENGINE, columns=["calls"]))
    made.validate(full=True)
    assert made.to_pylist() == answers(rows, ["calls"])[cut[0] + 7 : cut[0] + 7 + cut[1]]
    # Items, and their fields, that begin elsewhere.
    items = column.values.slice(3, 9)
    moved = pa.ListArray.from_arrays([0, 2, 5, 9], items)
    fields = pa.StructArray.from_arrays([field.slice(1) for field in items.flatten()], names=items.type.names)
    for lists in (moved, moved[1:], pa.ListArray.from_arrays([1, 4, 8], fields)):
        want = [[(m["from"], m["value"]) if m else None for m in row] for row in lists.to_pylist()]
        assert pa.array(arrow.parse(lists, ENGINE)).to_pylist() == answers(want)
    assert pa.array(arrow.parse(pa.chunked_array([column[:2], column[:0], column[2:]]), ENGINE)).to_pylist() == answers(rows)
    assert len(arrow.parse(pa.chunked_array([], column.type))) == 0


def test_conversations_of_other_kinds():
    for names in (("role", "text"), ("author", "content")):
        with pytest.raises(TypeError, match="its messages have no field"):
            arrow.parse(talks(*names))


def test_datafusion():
    datafusion = pytest.importorskip("datafusion", reason="datafusion is not installed")
    adapter = pytest.importorskip("toolglot.datafusion")
    context = datafusion.SessionContext()
    context.register_udf(adapter.parse_udf(ENGINE))
    table = pa.table({"n": list(range(len(ROWS))), "output": ROWS})
    context.register_record_batches("outputs", [table.to_batches()])
    found = context.sql("select n, toolglot_parse(output) as turn from outputs order by n").to_pydict()
    assert found["turn"] == [expected(row) for row in ROWS]
    names = context.sql("select toolglot_parse(output)['calls'][1]['name'] as name from outputs order by n").to_pydict()
    assert names["name"][:2] == ["f", None]
    column = talks("role", "content")
    context.register_udf(adapter.parse_udf(ENGINE, name="turns_of", input_type=column.type))
    context.register_record_batches("talks", [pa.table({"n": list(range(len(TALKS))), "messages": column}).to_batches()])
    assert context.sql("select turns_of(messages) as turns from talks order by n").to_pydict()["turns"] == answers()


def test_polars():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    adapter = pytest.importorskip("toolglot.polars")
    frame = polars.DataFrame({"output": ROWS})
    for found in (frame.with_columns(turn=adapter.parse("output")), frame.lazy().with_columns(turn=adapter.parse("output")).collect()):
        turns = found["turn"].to_list()
        for turn, row in zip(turns, ROWS):
            assert turn == expected(row) or (row is None and not any((turn or {}).values()))
    frame = polars.DataFrame({"messages": polars.from_arrow(talks("from", "value"))})
    for lazy in (frame, frame.lazy()):
        found = lazy.with_columns(turns=adapter.parse("messages", ENGINE, conversations=True, columns=["text"]))
        turns = (found.collect() if lazy is not frame else found)["turns"].to_list()
        want = answers(columns=["text"])
        for have, row in zip(turns, want, strict=True):
            assert (have is None) == (row is None)
            # Polars shows a null struct as one of nulls.
            assert [(turn or {}).get("text") for turn in have or []] == [(turn or {}).get("text") for turn in row or []]


def test_adapters_by_shape():
    """ci/ray.sh runs Ray, Spark and Daft; this tests what they are given."""
    ray = pytest.importorskip("toolglot.ray")
    batch = pa.table({"n": list(range(len(ROWS))), "output": ROWS})
    assert ray.ParseCalls("output", engine=ENGINE)(batch).column("turn").to_pylist() == [expected(row) for row in ROWS]

    class Dataset:
        def map_batches(self, step, **options):
            assert options == {"batch_format": "pyarrow", "zero_copy_batch": True, "batch_size": 4096}
            return step(batch)

    assert ray.parse(Dataset(), "output", "x", columns=["text"]).column("x").to_pylist()[3] == {"text": "plain"}
    spark = pytest.importorskip("toolglot.spark")
    out = spark.append(batch.to_batches()[0], "output", "turn", ENGINE, {})
    assert out.schema.names == ["n", "output", "turn"] and out.column("turn").to_pylist() == [expected(row) for row in ROWS]
    talk = pa.table({"messages": talks("role", "content")})
    assert ray.ParseCalls("messages", engine=ENGINE)(talk).column("turn").to_pylist() == answers()
    assert spark.append(talk.to_batches()[0], "messages", "turn", ENGINE, {}).column("turn").to_pylist() == answers()
    assert spark.TYPE.startswith("struct<text: string, reasoning: string, calls: array<struct<name: string,")
