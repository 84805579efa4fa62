"""Compares our rendering of every template with Jinja2's, byte by byte.

    same.py COMMAND FOLDER [--show N]      FOLDER holds the unpacked archives
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from check import find, ready
from render import FORMS, USER, Refused
from shapes import SHAPES, TOOLS

HERE = Path(__file__).parent
# The time of `strftime_now` in `render`.
NOON = "1738324800"
# Why a rendering may differ, and where: a part of the bytes or of the request that shows it.
EXCUSES = {
    "In Python, a string marked as safe escapes what is added to it: the prompt holds `&#34;` for every quotation mark of a definition.": (
        "meetkai-functionary-medium-v3.1",
        lambda body, want: "&#34;" in want,
    ),
    "Arguments that are text, of which the template writes each character as a key: it expects an object.": (
        ("tool_chat_template_llama3.2_pythonic", "tool_chat_template_llama4_pythonic", "tool_chat_template_toolace"),
        lambda body, want: any(isinstance(call["function"]["arguments"], str) for m in body["messages"] for call in m.get("tool_calls", [])),
    ),
}
RESULT = {"role": "tool", "tool_call_id": "call00000", "name": "get_weather", "content": "It's 21 °C & sunny."}


def conversations(template):
    """What the template is asked to write: every turn in every form, results, several turns, and the prompt."""
    system = {"role": "system", "content": "Be brief."}
    yield [USER], None, True
    yield [system, USER], TOOLS, True
    for form in FORMS:
        for turn in SHAPES.values():
            yield [USER, template._message(turn, form)], TOOLS, False
        call = template._message(SHAPES["one call"], form)
        yield [USER, call, RESULT], TOOLS, True
        yield [system, USER, call, RESULT, {"role": "assistant", "content": "It is sunny."}, USER], TOOLS, True


def ours(command, template, bodies):
    with tempfile.NamedTemporaryFile("w", suffix=".jinja") as file:
        file.write(template.source)
        file.flush()
        lines = "".join(json.dumps(body) + "\n" for body in bodies)
        done = subprocess.run([command, "render", "--lines", "--now", NOON, file.name], input=lines, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{template.name}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    command, folder, *rest = sys.argv[1:]
    show = int(rest[1]) if rest[:1] == ["--show"] else 3
    known = tomllib.loads((HERE / "templates.toml").read_text())
    count = compared = refused = 0
    wrong, excused = [], dict.fromkeys(EXCUSES, 0)
    for _, name, source in find(folder):
        template = ready(known, name, source, {"bos_token": "<s>", "eos_token": "</s>", "documents": None})
        template.name = name
        template.probe(TOOLS)
        count += 1
        bodies, wanted = [], []
        for messages, tools, generate in conversations(template):
            bodies.append({**template.variables, "messages": messages, "tools": tools, "add_generation_prompt": generate})
            try:
                wanted.append(template.render(messages, tools, generate))
            except Refused as why:
                wanted.append(why)
        for body, want, got in zip(bodies, wanted, ours(command, template, bodies), strict=True):
            if isinstance(want, Refused):
                refused += 1
                # Python refuses to iterate over nothing and to write iterators; we write what there is.
                same = "error" in got or isinstance(want.__cause__, TypeError)
            else:
                compared += 1
                same = got.get("text") == want
            if same:
                continue
            why = next((why for why, (names, fits) in EXCUSES.items() if name in names and fits(body, str(want))), None)
            if why:
                excused[why] += 1
            else:
                wrong.append((name, body, want, got))
    print(f"{count} templates: {compared} conversations compared, {refused} refused, {len(wrong)} differ")
    for why, times in excused.items():
        print(f"  {times} differ as expected: {why}")
    if not all(excused.values()):
        sys.exit("an expected difference did not occur: remove it")
    seen = {}
    for name, body, want, got in wrong:
        seen[name] = seen.get(name, 0) + 1
        if seen[name] <= show:
            difference(name, body, want, got)
    sys.exit(bool(wrong))


def difference(name, body, want, got):
    print(f"\n{name}: {json.dumps(body['messages'], ensure_ascii=False)[:300]}")
    if "error" in got or isinstance(want, Refused):
        print("  Jinja2:", repr(str(want))[:200], "\n  ours:  ", got)
        return
    a, b = want, got["text"]
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    print(f"  at {at}: Jinja2 {a[max(0, at - 30) : at + 60]!r}\n  ours  {b[max(0, at - 30) : at + 60]!r}")


main()
