"""Runs every example: in the documentation of the package and of its native part, in the README and in the manual.

python examples.py ROOT without pytest, in an environment that has only the package
"""

import doctest
import importlib
import importlib.util
import pkgutil
import re
import sys
from pathlib import Path

import toolglot

FENCE = re.compile(r"^```python\n.*?^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def sources(root):
    """Everything that contains examples, as `(name, tests)`."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    names = [found.name for found in pkgutil.iter_modules(toolglot.__path__, "toolglot.")]
    # A module for a framework that is not installed has no examples that could run.
    for name in ["toolglot", *names]:
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("toolglot"):
                raise
            continue
        if name == "toolglot._native":
            for member, thing in sorted(vars(module).items()):
                if not member.startswith("__"):
                    scope = {"toolglot": toolglot, **vars(toolglot)}
                    yield f"{name}.{member}", finder.find(thing, member, module=False, globs=scope)
        else:
            yield name, [test for test in finder.find(module) if test.examples and _is_of(test, name)]
    parser = doctest.DocTestParser()
    for page in ("README.md", "bindings/python/README.md", "docs/PYTHON.md", "docs/AGENT.md"):
        text = (Path(root) / page).read_text(encoding="utf-8")
        # Examples that need a missing library are left out.
        text = FENCE.sub(lambda fence: fence[0] if _can_run(fence[0]) else "", text)
        # A fence ends an example, as a blank line does.
        text = text.replace("\n```", "\n\n```")
        yield page, [parser.get_doctest(text, {}, page, page, 0)]


def _can_run(fence):
    """Whether the modules that it imports are installed."""
    return all(importlib.util.find_spec(name) for name in re.findall(r"^>>> import (\w+)", fence, re.MULTILINE))


def _is_of(test, name):
    """Excludes classes of the native part that the package re-exports."""
    return not (name == "toolglot" and test.lineno is None)


def run(tests):
    """Returns `(failures, examples)`."""
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    for test in tests:
        runner.run(test)
    found = runner.summarize(verbose=False)
    return found.failed, found.attempted


def main():
    failed = attempted = 0
    for _, tests in sources(sys.argv[1]):
        one, several = run(tests)
        failed += one
        attempted += several
    version = ".".join(map(str, sys.version_info[:3]))
    print(f"Python {version}: {attempted} examples, {failed} failed")
    return 1 if failed or not attempted else 0


if __name__ == "__main__":
    sys.exit(main())
