"""What models' own chat templates write, read with the dialects that the model's name gives (`toolglot dialects --model`).

    named.py TOOLGLOT UNPACKED

A reply that the dialects of templates.toml read as it was meant must be read so by these, too. Names that no dialect lists are left out.
"""

import subprocess
import sys

from check import cells, load, verdict
from read import read

# Fewer would mean that names are not found any more.
LEAST = 60


def dialects(toolglot, name):
    found = subprocess.run([toolglot, "dialects", "--model", name], capture_output=True, text=True)
    return found.stdout.split()


def main():
    toolglot, unpacked = sys.argv[1:]
    templates, _, _ = load(unpacked)
    listed = [cell for cell in cells(templates) if "reply" in cell]
    given = {template.name: dialects(toolglot, template.name) for template in templates}
    listed = [cell for cell in listed if given[cell["template"].name]]
    named = [{**cell, "dialects": given[cell["template"].name]} for cell in listed]
    failed = 0
    for one, other, *outs in zip(listed, named, read(toolglot, listed, ("whole",)), read(toolglot, named, ("whole",)), strict=True):
        verdict(one, outs[0])
        verdict(other, outs[1])
        if one["verdict"] != "us" and other["verdict"] == "us":
            failed += 1
            print(f"{one['template'].name}, {one['shape']}, {other['dialects']} instead of {one['dialects']}: {one['reply']!r}\n    {other['got']}")
    count = len({cell["template"].name for cell in listed})
    print(f"{count} templates read with the dialects of their names, {failed} replies read otherwise")
    sys.exit(failed > 0 or count < LEAST)


if __name__ == "__main__":
    main()
