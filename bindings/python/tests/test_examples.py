"""Every example in the documentation runs."""

import examples
import pytest
from conftest import ROOT

SOURCES = [(name, tests) for name, tests in examples.sources(ROOT) if tests]


@pytest.mark.parametrize("tests", [tests for _, tests in SOURCES], ids=[name for name, _ in SOURCES])
def test_examples(tests):
    failed, _ = examples.run(tests)
    assert failed == 0


def test_there_are_some():
    counted = {name: sum(len(test.examples) for test in tests) for name, tests in SOURCES}
    for name in ("toolglot", "toolglot._clients", "toolglot._functions", "toolglot._tools", "toolglot._agent", "toolglot._native.Engine", "docs/PYTHON.md", "docs/AGENT.md"):
        assert counted[name] > 1, name
