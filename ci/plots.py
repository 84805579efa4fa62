#!/usr/bin/env python3
"""Draws the pictures of docs/plots from the tables in the documents, so that both always say the same.

    ci/plots.py            write them
    ci/plots.py --check    fail if one is missing or stale
"""

import html
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
# Told apart by people who do not see all colours, on white and on black.
COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58900", "#56b4e9", "#888888", "#a0522d"]
STYLE = """text { font: 12px system-ui, sans-serif; fill: #222; } .title { font-weight: 600; font-size: 13px; } .axis { stroke: #8886; }
@media (prefers-color-scheme: dark) { text { fill: #ddd; } }"""


def rows(page, heading):
    """The cells of the table that follows a line that begins with `heading`."""
    lines = (DOCS / page).read_text(encoding="utf-8").split("\n")
    at = next(n for n, line in enumerate(lines) if line.startswith(heading))
    at = next(n for n in range(at, len(lines)) if lines[n].startswith("|"))
    found = []
    for line in lines[at:]:
        if not line.startswith("|"):
            return found
        found.append([cell.strip(" *`") for cell in line.strip("|").split("|")])


def number(cell):
    """The first number of a cell, if it has one."""
    found = re.match(r"[\d,]*\.?\d+", cell)
    return float(found[0].replace(",", "")) if found else None


def text(x, y, words, anchor="start", kind="", color=""):
    kind = f' class="{kind}"' if kind else ""
    color = f' style="fill: {color}"' if color else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}{color}>{html.escape(words)}</text>'


def line(x1, y1, x2, y2, more='class="axis"'):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {more}/>'


def svg(width, height, label, parts):
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
    return "\n".join([f'{head} aria-label="{html.escape(label)}">', f"<style>{STYLE}</style>", *parts, "</svg>"]) + "\n"


def bars(title, groups, names, marks=()):
    """Horizontal bars: `groups` are (label, values), a colour for each of `names`; `marks` are (label, value) of lines across."""
    width, left, right, bar = 720, 130, 60, 14
    top = 44 if len(names) > 1 else 30
    most = max(value for _, values in groups for value in values)
    most = max([most, *(value for _, value in marks)])
    scale = (width - left - right) / most
    parts = [text(8, 18, title, kind="title")]
    if len(names) > 1:
        x = left
        for name, color in zip(names, COLORS):
            parts += [f'<rect x="{x}" y="26" width="10" height="10" fill="{color}"/>', text(x + 14, 35, name)]
            x += 30 + 7 * len(name)
    y = top
    for label, values in groups:
        parts.append(text(left - 8, y + bar * len(values) / 2 + 4, label, "end"))
        for value, color in zip(values, COLORS):
            parts.append(f'<rect x="{left}" y="{y}" width="{value * scale:.1f}" height="{bar - 3}" fill="{color}"/>')
            parts.append(text(left + value * scale + 5, y + bar - 5, f"{value:g}"))
            y += bar
        y += 6
    for label, value in marks:
        x = left + value * scale
        parts += [line(x, top - 4, x, y, 'stroke="#888" stroke-dasharray="4 3"'), text(x, y + 12, label, "middle")]
    return svg(width, y + (22 if marks else 8), title, parts)


def curves(title, panels, sizes, unit):
    """Panels side by side of curves over sizes, both on a logarithmic scale: a panel is (label, {name: values})."""
    width, height, top, left, between = 920, 380, 64, 76, 150
    names = list(dict.fromkeys(name for _, series in panels for name in series))
    values = [value for _, series in panels for row in series.values() for value in row if value]
    low, high = (math.log10(f) for f in (min(values), max(values)))
    low, high = math.floor(low), math.ceil(high)
    wide = (width - left - between * len(panels)) / len(panels)
    parts = [text(8, 18, title, kind="title")]
    for at, (label, series) in enumerate(panels):
        x0 = left + at * (wide + between)
        place = lambda value: top + (high - math.log10(value)) / (high - low) * (height - top - 40)
        across = lambda n: x0 + n / (len(sizes) - 1) * wide
        parts.append(text(x0, top - 14, label, kind="title"))
        for power in range(low, high + 1):
            parts.append(line(x0, place(10**power), x0 + wide, place(10**power)))
            if at == 0:
                parts.append(text(x0 - 6, place(10**power) + 4, f"{10**power:,}", "end"))
        for n, size in enumerate(sizes):
            parts.append(text(across(n), height - 22, size, "middle"))
        ends = []
        for name, row in series.items():
            color = COLORS[names.index(name) % len(COLORS)]
            dots = [(across(n), place(value)) for n, value in enumerate(row) if value]
            thick = 3 if name == "toolglot" else 1.5
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{thick}"/>')
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{color}"/>' for x, y in dots]
            ends.append([dots[-1][1], name, color])
        # Names beside the last values, none over another.
        ends.sort()
        for one, other in zip(ends, ends[1:]):
            other[0] = max(other[0], one[0] + 14)
        parts += [text(x0 + wide + 8, y + 4, name, color=color) for y, name, color in ends]
    parts.append(text(left, height - 4, unit))
    return svg(width, height, title, parts)


def pictures():
    table = rows("PERFORMANCE.md", "Instructions per chunk (`ci/instructions.sh text`)")
    found = {(row[0], row[1]): number(row[-1]) for row in table}
    texts = ["english", "chinese", "code", "html"]
    groups = [(name, [found[name, "1 dialect"], found[name, "all dialects"]]) for name in texts]
    marks = [("memchr", found["memchr", ""]), ("Teddy", found["Teddy", ""])]
    yield "text.svg", bars("Text in chunks of 64 KiB, instructions a byte", groups, ["one dialect", "the default set"], marks)

    table = rows("PERFORMANCE.md", "Instructions inside one long argument")
    groups = sorted(((row[0], [number(row[-1])]) for row in table[2:]), key=lambda group: group[1])
    yield "values.svg", bars("An argument of source code in chunks of 64 KiB, instructions a byte", groups, [""])

    table = rows("COMPARISON.md", "<!-- begin: seconds -->")
    panels = []
    for dialect in ("hermes", "qwen3-coder"):
        series = {row[1]: [number(cell) for cell in row[2:]] for row in table[2:] if row[0] == dialect}
        panels.append((dialect, series))
    yield "growth.svg", curves("One call with one long argument, nanoseconds a byte", panels, table[0][2:], "Length of the argument. A linear cost is a flat curve; one that ends was stopped after three seconds.")


def main():
    check = sys.argv[1:] == ["--check"]
    folder = DOCS / "plots"
    stale = []
    for name, drawn in pictures():
        path = folder / name
        if check:
            stale += [name] if not path.exists() or path.read_text(encoding="utf-8") != drawn else []
        else:
            path.write_text(drawn, encoding="utf-8")
    if stale:
        sys.exit(f"docs/plots: {', '.join(stale)} differ from the tables; run ci/plots.py")


main()
