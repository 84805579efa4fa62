#!/usr/bin/env python3
"""Writes `python/toolglot/_native.pyi` from the code, or checks that it is fresh.

    stubs.py [--check] MATURIN_ARGUMENT...

Types and documentation come from the native module itself, where maturin reads them. This script adds what maturin cannot know: the
names of the fields for `match`, and the union of all events. Requires the wheel to be installed in the interpreter that runs this.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
STUB = HERE / "python" / "toolglot" / "_native.pyi"
EVENTS = (
    "Text Reasoning Protected Raw BlockOpen CallNamed CallOpen ArgDelta ParamOpen ParamDelta ParamClose CallAbandoned CallClose"
    " BlockClose BlockAbandoned Issue"
).split()
HEAD = f'''from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Final, Literal, SupportsIndex, TypeAlias, final

_Event: TypeAlias = {" | ".join(EVENTS)}
'''


def generate(arguments: list[str]) -> str:
    """Returns what maturin reads from the module."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["maturin", "generate-stubs", "--out", folder, *arguments]
        done = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            sys.exit(done.stdout)
        return next(Path(folder).rglob("_native.pyi")).read_text()


def complete(text: str) -> str:
    """Adds what maturin cannot know."""
    import toolglot._native as native

    text = re.sub(r"(?:^(?:from|import) .*\n)+", HEAD, text, count=1, flags=re.MULTILINE)
    # Explicit annotations come in quotes, and use `Event` for the union.
    text = re.sub(r'(: |-> )"([^"\n]+)"(?=[ ,):])', r"\1\2", text)
    text = text.replace("list[Event]", "list[_Event]").replace("def tail(self, /) -> list[Any]", "def tail(self, /) -> list[_Event]")
    text = re.sub(r"(def (?:arguments|toolglot)\(self, /\) -> )dict\b", r"\1dict[str, Any]", text)
    text = text.replace("SupportsGetItem[int, SupportsIndex]", "bytes").replace("SupportsLenAndGetItem[SupportsIndex]", "list[int]")
    lines, name = [], ""
    for line in text.splitlines():
        if found := re.match(r"class (\w+)", line):
            name = found[1]
        if line.strip() == "__match_args__: Final[tuple]":
            line = f"    __match_args__ = {getattr(native, name).__match_args__!r}".replace("'", '"')
        lines.append(line.rstrip())
    return "\n".join(lines) + "\n"


def main() -> int:
    """Writes or checks the file."""
    arguments = sys.argv[1:]
    check = "--check" in arguments
    text = complete(generate([argument for argument in arguments if argument != "--check"]))
    if not check:
        STUB.write_text(text)
        return 0
    if STUB.read_text() == text:
        return 0
    print(f"{STUB.relative_to(HERE)} is not what the code says; run ci/python.sh --stubs and commit it")
    return 1


if __name__ == "__main__":
    sys.exit(main())
