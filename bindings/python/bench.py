#!/usr/bin/env python3
"""Measures the cost of calls through the package: nanoseconds, the best of several rounds.

bench.py [ROUNDS]
bench.py --rows [ROUNDS] a chunk of 4 bytes, as rows of the table in docs/BINDINGS.md; their instructions are counted by
`ci/bindings.sh --python PROGRAM`. One line each, `Python, str / text: 412.3 ns`
"""

import functools
import subprocess
import sys
from pathlib import Path
from time import perf_counter_ns, process_time_ns

import toolglot
from toolglot import _servers

CALL = '<tool_call name="weather"><param name="city">Leith</param></tool_call>'
ENGINE = toolglot.Engine()


def best(what, count, run, rounds):
    """Prints the lowest time for one of `count` steps."""
    times = []
    for _ in range(rounds):
        begun = perf_counter_ns()
        run(count)
        times.append((perf_counter_ns() - begun) / count)
    print(f"{what:48} {min(times):9.0f} ns")


class Nothing:
    """The baseline: what Python itself takes for a method call."""

    def feed(self, chunk):
        return [chunk]


def feed(chunk, make=ENGINE.stream, read=False):
    def run(count):
        step = make().feed
        for _ in range(count):
            events = step(chunk)
            if read:
                events[0].text

    return run


def parse(count):
    for _ in range(count):
        ENGINE.parse(CALL).calls[0].arguments


def by_byte(count):
    data = CALL.encode()
    step = ENGINE.stream().feed
    for at in range(count):
        step(data[at % len(data) : at % len(data) + 1])


def server(count):
    """What a server plug-in does per token."""
    step = _servers.Live(ENGINE, None, False).feed
    for _ in range(count):
        step("hello ")


def rows(rounds):
    """The rows and cases of `ci/bindings.py`, timed."""
    source = (Path(__file__).parents[2] / "benches" / "data" / "english.txt").read_text(encoding="utf-8")
    prose = " ".join(source.replace('"', "'").replace("\\", "/").split())
    prose = (prose * (-(-16384 // len(prose))))[:16384]
    cases = {
        "text": "",
        "JSON argument": '<tool_call>\n{"name": "write", "arguments": {"content": "',
        "XML argument": '<tool_call name="write"><param name="content">',
    }
    width = 64

    def lowest(step, items):
        times = []
        for _ in range(rounds):
            begun = perf_counter_ns()
            for item in items:
                step(item)
            times.append(perf_counter_ns() - begun)
        return min(times)

    for form in ("bytes", "str", "feed_many"):
        for case, before in cases.items():
            data = prose.encode() if form == "bytes" else prose
            chunks = [data[at : at + 4] for at in range(0, len(data), 4)]
            streams = [ENGINE.stream() for _ in range(width)]
            for stream in streams:
                stream.feed(before)
            if form == "feed_many":
                steps = [chunks[at : at + width] for at in range(0, len(chunks), width)]
                cost = lowest(functools.partial(toolglot.feed_many, streams), steps)
            else:
                cost = lowest(streams[0].feed, chunks) - lowest(len, chunks)
            print(f"Python, {form} / {case}: {cost / len(chunks):.1f} ns")


def columns(rounds):
    """Megabytes per second of processor time through Arrow, if pyarrow is installed."""
    try:
        import pyarrow
    except ModuleNotFoundError:
        return
    from toolglot import arrow

    column = pyarrow.array([("word " * 100) + CALL] * 20_000)
    times = []
    for _ in range(rounds):
        begun = process_time_ns()
        arrow.parse(column, ENGINE)
        times.append(process_time_ns() - begun)
    print(f"{'toolglot.arrow.parse, rows of 570 bytes with a call':52} {column.nbytes * 1e3 / min(times):5.0f} MB/s")


def start(rounds):
    """Prints what a process takes to start with the package and an engine, over one that starts without."""

    def took(program):
        begun = perf_counter_ns()
        subprocess.run([sys.executable, "-c", program], check=True)
        return perf_counter_ns() - begun

    bare, ready = (min(took(program) for _ in range(4 * rounds)) for program in ("pass", "import toolglot; toolglot.Engine()"))
    print(f"{'import toolglot and Engine(), over bare Python':48} {ready - bare:9.0f} ns")


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--rows"]
    rounds = int(arguments[0]) if arguments else 5
    if "--rows" in sys.argv:
        rows(rounds)
        return
    best("a Python method that makes a list", 200_000, feed("hello ", Nothing), rounds)
    best("feed, 6 bytes of text, str", 200_000, feed("hello "), rounds)
    best("feed, 6 bytes of text, bytes", 200_000, feed(b"hello "), rounds)
    best("feed, 6 bytes of text, str, and read it", 200_000, feed("hello ", read=True), rounds)
    best("feed, a call byte for byte, for each byte", 200_000, by_byte, rounds)
    best("parse, one call, and its arguments", 20_000, parse, rounds)
    best("feed, 1 MB of text", 20, feed("word " * 200_000), rounds)
    best("a token through a server's plug-in", 50_000, server, rounds)
    columns(rounds)
    start(rounds)


if __name__ == "__main__":
    main()
