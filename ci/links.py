#!/usr/bin/env python3
"""Checks that relative links in the Markdown pages of the repository lead to existing files."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def report(broken, about):
    """Ends the program: lists the links that lead nowhere, and says what was read."""
    for line in broken:
        print(f"leads nowhere: {line}")
    print(f"{about}, {len(broken)} lead nowhere")
    sys.exit(1 if broken else 0)


def main():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.split("\n")
    pages = [ROOT / name for name in listed if name and (ROOT / name).exists()]
    count = 0
    broken = []
    for page in pages:
        for target in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
            if re.match(r"[a-z]+:|#", target):
                continue
            count += 1
            path = page.parent / target.split("#")[0]
            if not path.exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    report(broken, f"{count} links in {len(pages)} pages")


if __name__ == "__main__":
    main()
