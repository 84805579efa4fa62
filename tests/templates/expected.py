"""What llama.cpp's own tests expect of a model's output, compared with what the command reads, whole and byte by byte.

    expected.py TOOLGLOT UNPACKED

The cases are read from the source of its test program, which is neither built nor run: the output, the tools, and the content,
reasoning and calls that are expected. Left out are cases of unfinished output, of answers that must fit a schema, and of
conversations that the output goes on with. Where toolglot reads something else on purpose, `[[expected]]` in templates.toml says why.
"""

import json
import re
import sys
import tomllib
from pathlib import Path

from read import read, same, turn_of

HERE = Path(__file__).parent
SOURCE = "vendor/llama.cpp/tests/test-chat.cpp"
# Fewer would mean that the layout of the source has changed.
LEAST = 280
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}
# What these build, by the meaning of their arguments.
BUILDERS = {
    "simple_assist_msg": ("content", "reasoning", "name", "arguments", "id"),
    "message_with_tool_calls": ("name", "arguments"),
    "message_with_tool_calls_and_reasoning": ("name", "arguments", "reasoning"),
    "message_with_content_and_tool_call": ("content", "name", "arguments"),
    "message_with_reasoning_and_tool_call": ("reasoning", "name", "arguments"),
}


def literal(source, at):
    """The string literal at a place, and where it ends; None if there is none."""
    if source.startswith('R"', at):
        begin = source.index("(", at)
        close = f'){source[at + 2:begin]}"'
        end = source.index(close, begin)
        return source[begin + 1 : end], end + len(close)
    if source[at] != '"':
        return None
    out, at = [], at + 1
    while source[at] != '"':
        if source[at] != "\\":
            out.append(source[at])
            at += 1
        elif source[at + 1] == "u":
            out.append(chr(int(source[at + 2 : at + 6], 16)))
            at += 6
        else:
            out.append(ESCAPES.get(source[at + 1], source[at + 1]))
            at += 2
    return "".join(out), at + 1


def step(source, at):
    """Where the next piece of code begins: a literal, a comment and a character are one each."""
    if source.startswith("//", at):
        end = source.find("\n", at)
        return len(source) if end < 0 else end
    if source.startswith("/*", at):
        return source.index("*/", at) + 2
    if source[at] == "'":
        return source.index("'", at + 2) + 1
    found = literal(source, at)
    return found[1] if found else at + 1


def closing(source, at):
    """Where the bracket at a place is closed."""
    depth = 0
    while True:
        depth += (source[at] in "({[") - (source[at] in ")}]")
        if depth == 0:
            return at
        at = step(source, at)


def parts(source):
    """The arguments of a list."""
    out, depth, at, begin = [], 0, 0, 0
    while at < len(source):
        depth += (source[at] in "({[") - (source[at] in ")}]")
        if source[at] == "," and depth == 0:
            out.append(source[begin:at])
            begin = at + 1
        at = step(source, at)
    return [part for part in (without_comments(part) for part in [*out, source[begin:]]) if part]


def without_comments(source):
    out, at = [], 0
    while at < len(source):
        end = step(source, at)
        if not source.startswith(("//", "/*"), at):
            out.append(source[at:end])
        at = end
    return "".join(out).strip()


def text(source):
    """The text of an expression of literals; None if it is anything else."""
    out, at = [], 0
    source = source.replace("std::string(", "(")
    while at < len(source):
        found = literal(source, at)
        if found:
            out.append(found[0])
            at = found[1]
        elif source[at].isspace() or source[at] in "+()":
            at += 1
        else:
            return None
    return "".join(out) if out else None


def message(source, named):
    """A message that an expression builds: content, reasoning and calls."""
    if source in named:
        return named[source]
    builder, _, rest = source.partition("(")
    values = [text(part) for part in parts(rest[:-1])]
    if builder not in BUILDERS or None in values:
        return None
    have = dict(zip(BUILDERS[builder], values))
    calls = [(have.get("name", ""), have.get("arguments", ""))] if have.get("name") else []
    return {"content": have.get("content", ""), "reasoning": have.get("reasoning", ""), "calls": calls}


def calls_of(source):
    """Pairs of name and arguments; None if they are not literals."""
    out = []
    for part in parts(without_comments(source)[1:-1]):
        values = [text(inner) for inner in parts(part[1:-1])[:2]] if part.startswith("{") else [None]
        if None in values:
            return None
        out.append(tuple(values))
    return out


def chain(source, at):
    """The calls after a place: `.tools(..).expect(..)`."""
    out = {}
    while found := re.compile(r"(?:\s|//.*\n)*\.\s*(\w+)\s*\(").match(source, at):
        end = closing(source, found.end() - 1)
        out.setdefault(found[1], source[found.end() : end].strip())
        at = end + 1
    return out


def definitions(source):
    """The named messages and the named tools."""
    messages, tools = {}, {}
    for found in re.finditer(r"const common_chat_msg (\w+)\s*=\s*(?=simple_assist_msg\()", source):
        end = closing(source, source.index("(", found.end()))
        messages[found[1]] = message(source[found.end() : end + 1], {})
    for found in re.finditer(r"common_chat_tool (\w+)\s*\{", source):
        inner = parts(source[found.end() : closing(source, found.end() - 1)])
        values = [text(part.partition("=")[2] if part.startswith(".") else part) for part in inner]
        if None not in values:
            tools[found[1]] = {"type": "function", "function": {"name": values[0], "parameters": json.loads(values[2])}}
    return messages, tools


def cases(source):
    messages, tools = definitions(source)
    template = ""
    for found in re.finditer(r'peg_tester\((?:"[^"]*/([^"/]*)\.jinja"|\w+)|\btst2?\s*\.\s*test\(', source):
        if found[0].startswith("peg_tester"):
            template = found[1]
            continue
        end = closing(source, found.end() - 1)
        given = parts(source[found.end() : end])
        steps = chain(source, end + 1)
        output = text(given[0]) if given else ""
        partial = given[1:] not in ([], ["false"]) or steps.get("is_partial") == "true"
        other = {"json_schema", "messages", "continue_final_message"} & steps.keys()
        wanted = message(steps["expect"], messages) if "expect" in steps else {"content": "", "reasoning": "", "calls": []}
        if output is None or wanted is None or partial or other:
            continue
        wanted = dict(wanted)
        for key, read_as in (("content", text), ("reasoning", text), ("tool_calls", calls_of)):
            if f"expect_{key}" in steps:
                wanted[key.removeprefix("tool_")] = read_as(steps[f"expect_{key}"])
        if None in wanted.values():
            continue
        yield {
            "line": source.count("\n", 0, found.start()) + 1,
            "template": template,
            "reply": output,
            "tools": [tools[name] for name in re.findall(r"\w+", steps.get("tools", "")) if name in tools],
            "wanted": wanted,
            # Otherwise the content contains the thoughts.
            "splits": re.search("AUTO|DEEPSEEK", steps.get("reasoning_format", "")) is not None,
        }


def differences(case, turn):
    wanted = case["wanted"]
    calls = [{"name": name, "arguments": json.loads(arguments or "{}")} for name, arguments in wanted["calls"]]
    if not same(turn["calls"], calls):
        yield "calls", turn["calls"], calls
    parts = {"text": "content", "reasoning": "reasoning"} if case["splits"] else {}
    for own, theirs in parts.items():
        if turn[own].strip() != wanted[theirs].strip():
            yield own, turn[own], wanted[theirs]


def main():
    toolglot, unpacked = sys.argv[1], Path(sys.argv[2])
    known = tomllib.loads((HERE / "templates.toml").read_text())
    source = next(unpacked.glob("llama_cpp_python-*")) / SOURCE
    found = []
    for case in cases(source.read_text()):
        dialects = known["dialects"].get(case["template"])
        if dialects:
            # The template's prompt ends in a thought, or not: its server knows.
            opened = case["wanted"]["reasoning"] and not case["reply"].lstrip().startswith(("<", "[", "to="))
            thinks = any(dialect.startswith("reasoning-") for dialect in dialects)
            start = "reasoning" if opened else "text" if thinks else None
            found.append({**case, "dialects": dialects, "tail": "", "start": start})
    unused = list(known["expected"])
    failed = 0
    for case, turns in zip(found, read(toolglot, found, ("whole", "1")), strict=True):
        if turns[0] != turns[1]:
            failed += 1
            print(f"line {case['line']}: what is read depends on the cut: {case['reply']!r}")
        told = list(differences(case, turn_of(turns[0])))
        reasons = [one for one in known["expected"] if one["template"] == case["template"] and one["has"] in case["reply"]]
        unused = [one for one in unused if one not in (reasons if told else [])]
        if told and not reasons:
            failed += 1
            print(f"line {case['line']}, {case['template']}, {case['dialects']}: {case['reply']!r}")
            for part, have, wanted in told:
                print(f"    {part}: {have!r}\n    expected: {wanted!r}")
    for one in unused:
        failed += 1
        print(f"a reason for a difference that there is not: {one}")
    print(f"{len(found)} expectations of llama.cpp's tests, {failed} failures, {len(known['expected'])} reasons for other readings")
    sys.exit(failed > 0 or len(found) < LEAST)


if __name__ == "__main__":
    main()
