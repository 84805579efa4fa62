"""Many streams fed in one call."""

import contextlib
import gc
import random
import sys
import threading

import pytest
import toolglot as tg

CALL = '<tool_call name="f"><param name="a">né 🌊</param></tool_call>'
TEXTS = [
    "Nothing but text, and a < b.",
    f"Grüße 🌊! {CALL} und {CALL}",
    '<think>hm 中</think>Well.\n<tool_call>\n{"name": "g", "arguments": {"a": ["x", 1]}}\n</tool_call>',
    '```\n<tool_call>\n```\nA tag that breaks: <tool_call nam and <tool_',
    "",
]
ENGINE = tg.Engine()


def pieces(data, dice):
    """The data under random cuts, empty pieces included, each piece of some type."""
    cuts = sorted(dice.choices(range(len(data) + 1), k=dice.randrange(2 * len(data) + 1)))
    for begin, end in zip([0, *cuts], [*cuts, len(data)]):
        piece = data[begin:end]
        yield piece if isinstance(piece, str) else dice.choice([bytes, bytearray, memoryview])(piece)


def alone(stream, chunk):
    """The result of a chunk, from `Stream.feed`."""
    events = stream.feed(chunk)
    if all(isinstance(event, tg.Text) for event in events):
        return "".join(event.text for event in events)
    return events


@pytest.mark.parametrize("seed", range(40))
def test_equal_to_feeding_one_by_one(seed):
    dice = random.Random(seed)
    data = [dice.choice([text, text.encode()]) for text in TEXTS * 2]
    ways = [list(pieces(one, dice)) for one in data]
    many, single = ([ENGINE.stream() for _ in data] for _ in range(2))
    for step in range(max(map(len, ways))):
        running = [place for place, way in enumerate(ways) if step < len(way)]
        dice.shuffle(running)
        chunks = [ways[place][step] for place in running]
        results = tg.feed_many([many[place] for place in running], chunks)
        assert results == [alone(single[place], chunk) for place, chunk in zip(running, chunks)]
    assert [stream.snapshot() for stream in many] == [stream.snapshot() for stream in single]
    assert [stream.finish() for stream in many] == [stream.finish() for stream in single]


def test_long_chunks():
    chunks = ["word " * 2000, b"word " * 2000 + CALL.encode(), "x"]
    many, single = ([ENGINE.stream() for _ in chunks] for _ in range(2))
    assert tg.feed_many(many, chunks) == [alone(stream, chunk) for stream, chunk in zip(single, chunks)]


def test_results():
    streams = [ENGINE.stream() for _ in range(4)]
    assert tg.feed_many(streams, ["a", b"", bytearray(b"<"), "<tool_"]) == ["a", "", "", ""]
    assert tg.feed_many(tuple(streams), (chunk for chunk in ["b", "c", " b", "x"])) == ["b", "c", "< b", "<tool_x"]
    assert tg.feed_many([ENGINE.stream()], ["<think>"]) == [[tg.Reasoning("<think>", 0, 7, True)]]
    assert tg.feed_many([], []) == []


def test_text_is_a_plain_str():
    class Mine(str):
        pass

    [result] = tg.feed_many([ENGINE.stream()], [Mine("x")])
    assert type(result) is str and result == "x"


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        (lambda streams, chunks: chunks.pop(), ValueError, "3 streams, but 2 chunks"),
        (lambda streams, chunks: streams.pop(), ValueError, "2 streams, but 3 chunks"),
        (lambda streams, chunks: streams[2].finish(), tg.StateError, r"streams\[2\]: the stream is finished"),
        (lambda streams, chunks: streams.__setitem__(1, None), TypeError, r"streams\[1\]: a Stream is needed, not NoneType"),
        (lambda streams, chunks: streams.__setitem__(2, streams[0]), ValueError, r"streams\[2\]: it is streams\[0\] too"),
        (lambda streams, chunks: chunks.__setitem__(2, 3), TypeError, r"chunks\[2\]: str, bytes, bytearray or memoryview is needed, not int"),
        (lambda streams, chunks: chunks.__setitem__(2, "\ud83c"), UnicodeEncodeError, "surrogates"),
        (lambda streams, chunks: streams.clear(), ValueError, "0 streams, but 3 chunks"),
    ],
)
def test_errors_come_before_anything_is_fed(spoil, error, message):
    streams, chunks = [ENGINE.stream() for _ in range(3)], ["a", "b", "c"]
    kept = list(streams)
    spoil(streams, chunks)
    with pytest.raises(error, match=message):
        tg.feed_many(streams, chunks)
    assert [stream.position for stream in kept] == [0, 0, 0]
    # None of them is still in use.
    assert kept[0].feed("a") == [tg.Text("a", 0, 1)]


@pytest.mark.parametrize("arguments", [(None, []), ([], None), (3, 3)])
def test_what_has_no_items(arguments):
    with pytest.raises(TypeError):
        tg.feed_many(*arguments)


def test_a_stream_in_use():
    stream, chunk, done = ENGINE.stream(), (CALL + "text ") * 100_000, threading.Event()

    def work():
        fed = False
        try:
            while not fed:
                # The other thread may have the stream for a moment.
                with contextlib.suppress(tg.BusyError):
                    stream.feed(chunk)
                    fed = True
        finally:
            done.set()

    thread = threading.Thread(target=work)
    thread.start()
    message, other = "", ENGINE.stream()
    while not done.is_set() and not message:
        try:
            tg.feed_many([ENGINE.stream(), stream], ["", ""])
        except tg.BusyError as error:
            message = str(error)
            with pytest.raises(tg.BusyError):
                tg.feed_many([other, stream], ["x", ""])
    thread.join()
    assert message.startswith("streams[1]: another thread is using this stream") and other.position == 0


def test_a_failure_hits_one_stream():
    streams = [ENGINE.stream() for _ in range(4)]
    streams[1]._panic(later=True)
    streams[3]._panic(later=True)
    with pytest.raises(tg.InternalError, match=r"^streams\[1\]: toolglot failed with an internal error") as caught:
        tg.feed_many(streams, ["a", "b", f"c{CALL}", "d"])
    first, second, third, fourth = caught.value.results
    assert (first, second, fourth) == ("a", None, None) and isinstance(third[1], tg.BlockOpen)
    with pytest.raises(tg.StateError, match=r"streams\[1\]: this stream failed with an internal error"):
        tg.feed_many(streams, ["a", "b", "c", "d"])
    assert tg.feed_many(streams[::2], ["e", ""]) == ["e", ""]


def test_nothing_leaks():
    streams, chunks = [ENGINE.stream() for _ in range(50)], ["some text"] * 50
    references = sys.getrefcount(streams[0]), sys.getrefcount(chunks[0])
    for _ in range(10):
        tg.feed_many(streams, chunks)
        with pytest.raises(TypeError):
            tg.feed_many(streams, [*chunks[:-1], None])
    gc.collect()
    assert (sys.getrefcount(streams[0]), sys.getrefcount(chunks[0])) == references
