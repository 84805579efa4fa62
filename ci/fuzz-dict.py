#!/usr/bin/env python3
"""Writes the generated part of fuzz/markers.dict: every marker of the built-in dialect files, for libFuzzer's -dict.

  ci/fuzz-dict.py           writes it
  ci/fuzz-dict.py --check   says whether it is up to date, by its status

What stands before the line that begins the generated part is written by hand and kept.
"""

import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "fuzz" / "markers.dict"
FILES = ROOT / "src" / "dialect" / "builtin"
BEGIN = "# Markers of the built-in dialects (ci/fuzz-dict.py)."
# What a file says about a dialect, and what models are told: no markers.
PROSE = {"id", "title", "aliases", "models", "sources", "group", "prompt", "observe", "deltas"}
# Longer entries are passed over by libFuzzer.
MAX = 64
HOLES = {"_": "", "/": "", "^": "", "id": "1", "key": "s", "type": "t", "tag": "", "ticks": "", "name": "f", "digits": "1", "x": ""}


def strings(value):
    """All strings in a value of a dialect file."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in PROSE:
                yield from strings(item)


def filled(pattern):
    """A pattern with a word in each hole."""
    holes = "|".join(sorted(map(re.escape, HOLES), key=len, reverse=True))
    return re.sub(rf"\$(\$|{holes})", lambda hole: HOLES.get(hole[1], "$"), pattern)


def entry(data):
    """An entry of a dictionary."""
    plain = lambda byte: 0x20 <= byte < 0x7F and byte not in b'"\\'
    return '"' + "".join(chr(byte) if plain(byte) else f"\\x{byte:02x}" for byte in data) + '"'


def main():
    have = PAGE.read_text(encoding="utf-8")
    hand = have.split(BEGIN)[0].rstrip("\n")
    words = set()
    for path in FILES.glob("*.toml"):
        for text in strings(tomllib.loads(path.read_text(encoding="utf-8"))):
            data = filled(text).encode()
            # A word alone is a switch of the file, or soon found.
            if 2 <= len(data) <= MAX and not re.fullmatch(rb"[\w-]+", data):
                words.add(entry(data))
    words -= set(hand.splitlines())
    want = "\n".join([hand, BEGIN, *sorted(words)]) + "\n"
    if "--check" in sys.argv[1:]:
        if want != have:
            print("fuzz/markers.dict is stale: run ci/fuzz-dict.py")
        return int(want != have)
    PAGE.write_text(want, encoding="utf-8")
    print(f"{len(words)} markers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
