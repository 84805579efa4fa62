"""Every example in the documentation runs."""

import subprocess
import sys

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


def test_bulk_cleaning(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    script, source = ROOT / "examples/python/clean_sharegpt.py", ROOT / "examples/data/sharegpt.jsonl"
    out = tmp_path / "clean.jsonl"
    ran = subprocess.run([sys.executable, script, source, out], capture_output=True, text=True, encoding="utf-8", timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")
    expected = ROOT / "examples/expected"
    assert ran.stdout == (expected / "clean_sharegpt.txt").read_text(encoding="utf-8")
    assert out.read_text(encoding="utf-8") == (expected / "clean_sharegpt.jsonl").read_text(encoding="utf-8")


def test_a_query_over_model_outputs(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pytest.importorskip("datafusion", reason="datafusion is not installed")
    from pyarrow import parquet

    call = '<tool_call>{"name": "%s", "arguments": {}}</tool_call>'
    rows = ["a " + call % "f", "none", None, call % "g" + "\n" + call % "f", '<tool_call>{"name": "h"']
    parquet.write_table(pyarrow.table({"reply": rows}), tmp_path / "outputs.parquet")
    script = ROOT / "examples/python/datafusion_udf.py"
    program = [sys.executable, script, tmp_path / "outputs.parquet", "--column", "reply"]
    ran = subprocess.run(program, capture_output=True, text=True, encoding="utf-8", timeout=120)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == "       2 f (hermes, complete)\n       1 g (hermes, complete)\n"
