"""Fetches the modules of SGLang's parsers from its wheel, without the rest of it, and compares them with a pinned digest.

    fetch.py NAME==VERSION DIGEST FOLDER [--write]     --write prints the digest instead of comparing

`bindings/python/tests/plugins/versions.py` does the same for other modules; its functions are used here.
"""

import re
import sys

import versions

versions.WANTED = {"sglang": re.compile(r"sglang/srt/(environ|function_call/\w+|plugins/\w+)\.py")}


def main():
    pinned, wanted, folder, *rest = sys.argv[1:]
    name, version = pinned.split("==")
    from pathlib import Path

    versions.fetch(Path(folder), [(name, version)])
    found = versions.digest(Path(folder) / f"{name}-{version}")
    if rest == ["--write"]:
        print(found)
    elif found != wanted:
        sys.exit(f"{pinned}: its modules have the digest {found}, not {wanted}")


main()
