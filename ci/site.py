#!/usr/bin/env python3
"""Writes the documentation as a site: `ci/site.py FOLDER TOOLGLOT`. Run by ci/site.sh.

Pages are the Markdown files of the repository, with the anchors that their links use, and one page for each dialect, made from its file
and from what the command writes in it. A link to a page leads to its HTML; a link to any other file of the repository must lead
to a file or a folder, which is copied. A link that leads nowhere is an error.
"""

import html
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

import links
from markdown_it import MarkdownIt

ROOT = pathlib.Path(__file__).resolve().parent.parent
CALL = '{"name": "weather", "arguments": {"city": "Leith"}}'
FIRST = ["README.md", "docs/FORMATS.md", "docs/CLI.md", "docs/DATA.md", "docs/PYTHON.md", "docs/WASM.md", "docs/C-API.md", "docs/GATEWAY.md", "docs/AGENT.md",
         "docs/COMPARISON.md", "docs/GLOSSARY.md", "docs/ARCHITECTURE.md"]
STYLE = """
:root { color-scheme: light dark; --line: #8884; }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; display: grid; grid-template-columns: 15rem minmax(0, 1fr); }
nav { padding: 1.5rem 1rem; border-right: 1px solid var(--line); font-size: .9rem; }
nav a { display: block; padding: .15rem 0; text-decoration: none; }
main { padding: 1rem 2rem 4rem; max-width: 58rem; overflow-wrap: anywhere; }
pre { overflow-x: auto; padding: .8rem; border: 1px solid var(--line); border-radius: 6px; }
code { font: .88em ui-monospace, monospace; }
table { border-collapse: collapse; display: block; overflow-x: auto; overflow-wrap: normal; }
th, td { border: 1px solid var(--line); padding: .3rem .5rem; text-align: left; vertical-align: top; }
img { max-width: 100%; }
nav [aria-current] { font-weight: 600; }
nav a.more { margin-top: .8rem; padding-top: .8rem; border-top: 1px solid var(--line); }
.menu { display: none; }
@media (max-width: 50rem) {
  body { display: flex; flex-direction: column; }
  nav { order: 2; border: 0; border-top: 1px solid var(--line); }
  main { padding: 0 1rem 2rem; }
  .menu { display: block; margin: 1rem 1rem 0; }
}
"""


def slug(title):
    """The anchor of a heading, as the links of the pages have it."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", title).lower()).replace(" ", "-")


def html_name(name):
    return "index.html" if name == "README.md" else name.removesuffix(".md").removeprefix("docs/").lower().replace("/", "-") + ".html"


def title_of(text):
    return re.sub(r"[`*]", "", text.split("\n", 1)[0].lstrip("# "))


def dialect_page(path, command):
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    name = data["id"]
    lines = [f"# {name}", "", data.get("title", ""), ""]
    for key in ("models", "aliases"):
        if data.get(key):
            lines += [f"{key.capitalize()}: {', '.join(data[key])}.", ""]
    made = subprocess.run([command, "encode", "--dialect", name], input=CALL, capture_output=True, text=True)
    if made.returncode == 0:
        lines += ["A call:", "", "```text", made.stdout.rstrip("\n"), "```", ""]
        read = subprocess.run([command, "parse", "--dialect", name, "--output", "events"], input=made.stdout, capture_output=True, text=True, check=True)
        lines += ["Its events:", "", "```json", read.stdout.rstrip("\n"), "```", ""]
    if data.get("sources"):
        lines += ["Sources:", "", *(f"* {source}" for source in data["sources"]), ""]
    lines += ["The dialect file:", "", "```toml", path.read_text(encoding="utf-8").rstrip("\n"), "```"]
    return name, "\n".join(lines)


def render(markdown, text):
    """HTML, and its anchors."""
    tokens = markdown.parse(text)
    anchors = {}
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            anchor = slug(tokens[at + 1].content)
            count = anchors[anchor] = anchors.get(anchor, -1) + 1
            token.attrSet("id", anchor if count == 0 else f"{anchor}-{count}")
    return markdown.renderer.render(tokens, markdown.options, {}), {a if n == 0 else f"{a}-{n}" for a, m in anchors.items() for n in range(m + 1)}


def main():
    site, command = pathlib.Path(sys.argv[1]), sys.argv[2]
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir(parents=True)
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    sources = {name: (ROOT / name).read_text(encoding="utf-8") for name in listed if name.count("/") == 0 or name.startswith("docs/")}
    dialects = dict(sorted(dialect_page(path, command) for path in (ROOT / "src/dialect/builtin").glob("*.toml")))
    sources["docs/dialects/INDEX.md"] = "# Each dialect\n\n" + "\n".join(f"* [{name}]({name}.md)" for name in dialects)
    sources |= {f"docs/dialects/{name}.md": text for name, text in dialects.items()}

    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    pages = {name: render(markdown, text) for name, text in sources.items()}
    menu = [*FIRST, "docs/dialects/INDEX.md", *sorted(n for n in sources if n not in FIRST and not n.startswith("docs/dialects/"))]
    more = menu[len(FIRST) + 1]
    entry = '<a href="{}"{}>{}</a>'
    nav = "".join(
        entry.format(html_name(name), ' class="more"' if name == more else "", html.escape(title_of(sources[name]))) for name in menu
    )
    shutil.copy(ROOT / "page/icon.svg", site)
    played = ROOT / "page/dist"
    if played.is_dir():
        shutil.copytree(played, site / "play")
        nav = '<a href="play/index.html">Playground</a>' + nav

    broken, count = [], 0
    for name, (body, _) in pages.items():
        def link(found, name=name):
            nonlocal count
            attribute, target = found[1], html.unescape(found[2])
            if re.match(r"[a-z]+:", target):
                return found[0]
            count += 1
            path, _, anchor = target.partition("#")
            there = name if not path else str((ROOT / name).parent.joinpath(path).resolve().relative_to(ROOT))
            if there in pages:
                if anchor and anchor not in pages[there][1]:
                    broken.append(f"{name}: {target}")
                return f'{attribute}="{html_name(there)}{"#" + anchor if anchor else ""}"'
            if (ROOT / there).is_file():
                (site / "files" / there).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / there, site / "files" / there)
                return f'{attribute}="files/{there}"'
            if (ROOT / there).is_dir():
                shutil.copytree(ROOT / there, site / "files" / there, dirs_exist_ok=True)
                return f'{attribute}="files/{there}/"'
            broken.append(f"{name}: {target}")
            return found[0]

        body = re.sub(r'(href|src)="([^"]*)"', link, body)
        title = html.escape(title_of(sources[name]))
        here = nav.replace(f'<a href="{html_name(name)}"', f'<a aria-current="page" href="{html_name(name)}"')
        head = (f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
                f'<link rel="icon" href="icon.svg"><style>{STYLE}</style>')
        top = f'<nav id="menu">{here}</nav><a class="menu" href="#menu">All pages</a>'
        page = f'<!doctype html><html lang="en">{head}{top}<main>{body}</main></html>\n'
        (site / html_name(name)).write_text(page, encoding="utf-8")
    links.report(broken, f"{len(pages)} pages, {len(dialects)} of them dialects; {count} links")


if __name__ == "__main__":
    main()
