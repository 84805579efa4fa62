#!/usr/bin/env python3
"""Checks licence and source of every package that is built, including tools for tests and benches.

Usage: ci/licences.py MANIFEST...

A licence expression passes if permissive licences alone satisfy it. A package must come from the public registry of the
language or be part of this repository.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

PERMISSIVE = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "ISC", "MIT", "MIT-0", "NCSA",
    "Unicode-3.0", "Unicode-DFS-2016", "Unlicense", "Zlib",
    # For data: root certificates.
    "CDLA-Permissive-2.0",
}

# Tools that write a file of the repository and are neither linked nor shipped: name and licence.
TOOLS = {("cbindgen", "MPL-2.0")}


def permissive(expression):
    """Evaluates an SPDX expression, in which permissive licences are true. Raises ValueError if it is malformed."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def either():
        value = both()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            value = both() or value
        return value

    def both():
        value = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            value = one() and value
        return value

    def one():
        if not tokens:
            raise ValueError(expression)
        token = tokens.pop(0)
        if token == "(":
            value = either()
            if not tokens or tokens.pop(0) != ")":
                raise ValueError(expression)
            return value
        if tokens and tokens[0] == "WITH":
            # An exception can only permit more.
            del tokens[:2]
        return token in PERMISSIVE

    value = either()
    if tokens:
        raise ValueError(expression)
    return value


def fault(package):
    """What is wrong with a package, or None."""
    source = package["source"]
    if source is not None and not (source.startswith("registry+") and source.endswith("/crates.io-index")):
        return f"its source is {source}"
    licence = package["license"]
    if not licence:
        return "it names no licence"
    if (package["name"], licence) in TOOLS:
        return None
    try:
        return None if permissive(licence) else f"its licence is {licence}"
    except ValueError:
        return f"its licence cannot be read: {licence}"


def unexplained(packages):
    """What docs/DEPENDENCIES.md lacks, and what it has for nothing: the packages of the registry that released ones ask for by name."""
    ours = [package for package in packages if package["source"] is None and package["publish"] != [] or package["name"] == "toolglot-python"]
    asked = {needed["name"] for package in ours for needed in package["dependencies"] if needed["kind"] is None and needed["source"]}
    page = (ROOT / "docs" / "DEPENDENCIES.md").read_text()
    told = set(re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE))
    return [f"docs/DEPENDENCIES.md does not say what {name} is for" for name in sorted(asked - told)] + [
        f"docs/DEPENDENCIES.md names {name}, which nothing asks for" for name in sorted(told - asked)
    ]


def metadata(manifest, *features):
    """What cargo knows of a manifest's packages and of all that they need."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--manifest-path", manifest, *features]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main():
    packages = {}
    for manifest in sys.argv[1:]:
        packages.update((package["id"], package) for package in metadata(manifest)["packages"])
    faults = [(package, fault(package)) for package in packages.values()]
    faults = [(package, why) for package, why in faults if why]
    for package, why in faults:
        print(f"{package['name']} {package['version']}: {why}")
    print(f"{len(packages)} packages, {len(faults)} with a fault")
    missing = unexplained(packages.values())
    print("\n".join(missing), end="\n" if missing else "")
    sys.exit(1 if faults or missing else 0)


if __name__ == "__main__":
    main()
