"""The cost of chunks in Python: bench.py bytes|str BEFORE REPEATED TIMES; see direct.rs."""

import pathlib
import sys

import toolglot


def main():
    form, before, repeated, times = sys.argv[1:]
    before, repeated = pathlib.Path(before).read_bytes(), pathlib.Path(repeated).read_bytes()
    if form == "str":
        before, repeated = before.decode(), repeated.decode()
    chunks = [repeated[at : at + 4] for at in range(0, len(repeated), 4)]
    count = events = 0
    feed = toolglot.Engine().stream().feed
    for chunk in [before] + chunks * int(times):
        for event in feed(chunk):
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
    print(count, events)


main()
