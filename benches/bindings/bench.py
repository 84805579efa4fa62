"""The cost of chunks in Python: bench.py FORM BEFORE REPEATED TIMES; see direct.rs.

FORM: `bytes` or `str`, what is fed; `many` for `feed_many`, which feeds a chunk to each of 64 streams; `loop`, which feeds nothing.
The loop of Python costs as much as a short chunk, so nothing is read in it: the text is fed once more than TIMES, and only that
time its events are read.
"""

import pathlib
import sys

import toolglot

STREAMS = 64


def read(results):
    """Returns (number of bytes or characters, number of events) of what `feed` or `feed_many` have returned."""
    count = events = 0
    for result in results:
        if isinstance(result, str):
            count += len(result)
            events += bool(result)
            continue
        for event in result:
            match event:
                case toolglot.Text(text):
                    count += len(text)
                case toolglot.ArgDelta(json=json):
                    count += len(json)
                case toolglot.ParamDelta(data=data):
                    count += len(data)
                case _:
                    continue
            events += 1
    return count, events


def loop(feed, chunks, times):
    for _ in range(times):
        for chunk in chunks:
            feed(chunk)


def loop_many(streams, steps, times):
    feed = toolglot.feed_many
    for _ in range(times):
        for chunks in steps:
            feed(streams, chunks)


def main():
    form, before, repeated, times = sys.argv[1:]
    before, repeated, times = pathlib.Path(before).read_bytes(), pathlib.Path(repeated).read_bytes(), int(times)
    if form != "bytes":
        before, repeated = before.decode(), repeated.decode()
    chunks = [repeated[at : at + 4] for at in range(0, len(repeated), 4)]
    engine = toolglot.Engine()
    streams = [engine.stream() for _ in range(STREAMS)]
    feed = streams[0].feed
    begun = [stream.feed(before) for stream in streams]
    if form == "many":
        steps = [chunks[at : at + STREAMS] for at in range(0, len(chunks), STREAMS)]
        seen = [read(toolglot.feed_many(streams, step)) for step in steps]
        loop_many(streams, steps, times)
    else:
        seen = [read([feed(chunk)]) for chunk in chunks]
        loop(len if form == "loop" else feed, chunks, times)
    totals = zip(read(begun[:1]), *seen)
    print(*(first + times * sum(rest) for first, *rest in totals))


main()
