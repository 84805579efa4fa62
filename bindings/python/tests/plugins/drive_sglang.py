"""Runs the detectors of `toolglot.sglang` in SGLang's own parser: drive_sglang.py FOLDER, the unpacked wheel."""

import sys
from types import SimpleNamespace

import stand_ins
from outputs import TOOLS, Calls, outputs

REAL = ["sglang.srt.environ", "sglang.srt.function_call.*", "sglang.srt.plugins", "sglang.srt.plugins.*"]
stand_ins.install(sys.argv[1], "sglang", REAL)

from sglang.srt.function_call import parser_names  # noqa: E402
from sglang.srt.function_call.function_call_parser import FunctionCallParser  # noqa: E402
from sglang.srt.plugins import load_plugins  # noqa: E402


def objects(tool):
    return SimpleNamespace(type="function", function=SimpleNamespace(**{"strict": False, **tool["function"]}))


def check(what, got, expected):
    if got != expected:
        raise AssertionError(f"{what}: {got!r} is not {expected!r}")


def has_structure(parser):
    """Whether the detector supports structural tags."""
    try:
        return bool(parser.detector.structure_info()("nothing"))
    except NotImplementedError:
        return False


def stream(parser, chunks):
    """Does what the server's loop does."""
    content, calls = "", Calls()
    for text, items in [*map(parser.parse_stream_chunk, chunks), parser.parse_stream_end()]:
        content += text
        for item in items:
            calls.take(item.tool_index, item.name, item.parameters)
    return content, calls


def main():
    before = set(FunctionCallParser.ToolCallParserEnum)
    # Finds the installed package by its entry point.
    load_plugins()
    names = set(FunctionCallParser.ToolCallParserEnum) - before
    check("names of the flag", names <= set(parser_names.TOOL_CALL_PARSER_NAMES), True)
    # Where a call is required: a tag around JSON, or, if the dialect has none, JSON that SGLang reads itself.
    for name, kind in (("toolglot_hermes", "structural_tag"), ("toolglot_qwen3_coder", "json_schema")):
        probe = FunctionCallParser([objects(tool) for tool in TOOLS], name)
        check("auto", probe.get_structure_constraint("auto"), None)
        check("required", probe.get_structure_constraint("required")[0], kind)
    streams = calls = 0
    for output in outputs():
        name = "toolglot_" + output.dialect.replace("-", "_")
        tools = [objects(tool) for tool in output.tools]
        parser = FunctionCallParser(tools, name)
        check(f"{name}: owns its format", parser.owns_tool_format(), has_structure(parser))
        for chunks in output.cuts():
            content, found = stream(FunctionCallParser(tools, name), chunks)
            check(f"{output.id}: content", content, output.content)
            check(f"{output.id}: calls", found.standing(), output.calls)
            streams += 1
        parser = FunctionCallParser(tools, name)
        content, items = output.text, []
        if parser.has_tool_call(output.text):
            content, items = parser.parse_non_stream(output.text)
        check(f"{output.id}: content at once", content, output.content)
        check(f"{output.id}: calls at once", [(item.name, item.parameters) for item in items], output.calls)
        calls += len(output.calls)
    print(f"SGLang: {len(names)} detectors registered by the entry point; {streams} streams through FunctionCallParser "
          f"with {calls} calls in them: all as without a server")


main()
