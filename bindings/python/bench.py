#!/usr/bin/env python3
"""What calls through the package cost: nanoseconds, the best of several rounds.

    bench.py [ROUNDS]
"""

import sys
from time import perf_counter_ns

import toolglot

CALL = '<tool_call name="weather"><param name="city">Leith</param></tool_call>'
ENGINE = toolglot.Engine()


def best(what, count, run, rounds):
    """Prints the least time of one of `count` steps."""
    times = []
    for _ in range(rounds):
        begun = perf_counter_ns()
        run(count)
        times.append((perf_counter_ns() - begun) / count)
    print(f"{what:48} {min(times):9.0f} ns")


class Nothing:
    """What Python itself takes for a method call."""

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


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    best("a Python method that makes a list", 200_000, feed("hello ", Nothing), rounds)
    best("feed, 6 bytes of text, str", 200_000, feed("hello "), rounds)
    best("feed, 6 bytes of text, bytes", 200_000, feed(b"hello "), rounds)
    best("feed, 6 bytes of text, str, and read it", 200_000, feed("hello ", read=True), rounds)
    best("feed, a call byte for byte, for each byte", 200_000, by_byte, rounds)
    best("parse, one call, and its arguments", 20_000, parse, rounds)
    best("feed, 1 MB of text", 20, feed("word " * 200_000), rounds)


if __name__ == "__main__":
    main()
