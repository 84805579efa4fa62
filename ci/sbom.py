#!/usr/bin/env python3
"""Writes software bills of materials in the form of CycloneDX 1.5, one for each thing that is released.

  ci/sbom.py FOLDER     FOLDER/NAME.cdx.json for each of PRODUCTS

A bill lists the packages that are compiled into the product for any platform, with licences and the checksums of the lock file, and
who depends on whom. Tools that build or test it are left out. The same sources give the same bytes.
"""

import collections
import json
import pathlib
import subprocess
import sys
import tomllib

import licences
from licences import ROOT

# What is released, the package that it is built from, its manifest, and the features of that package.
PRODUCTS = [
    ("toolglot", "toolglot", "Cargo.toml", ["--all-features"]),
    ("toolglot-tools", "toolglot-tools", "Cargo.toml", ["--all-features"]),
    ("toolglot-agent", "toolglot-agent", "Cargo.toml", ["--all-features"]),
    ("toolglot-cli", "toolglot-cli", "Cargo.toml", []),
    ("toolglot-gateway", "toolglot-gateway", "Cargo.toml", []),
    ("toolglot-c", "toolglot-c", "Cargo.toml", []),
    ("toolglot-python", "toolglot-python", "Cargo.toml", []),
    ("toolglot-wasm", "toolglot-wasm", "Cargo.toml", []),
]


def linked(product, manifest, features):
    """Name and version of each package that is linked into the product, on any platform."""
    shown = ["--edges", "normal", "--target", "all", "--prefix", "none", "--format", "{p}"]
    command = ["cargo", "tree", "--locked", "--manifest-path", manifest, "--package", product, *features, *shown]
    found = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {(line.split()[0], line.split()[1].removeprefix("v")) for line in found.splitlines() if line.strip()}


def checksums(manifest):
    """Of each name and version: the SHA-256 of the archive."""
    folder = (ROOT / manifest).parent
    lock = tomllib.loads((folder / "Cargo.lock").read_text())
    return {(package["name"], package["version"]): package.get("checksum") for package in lock["package"]}


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, sums, kind="library"):
    made = {"type": kind, "bom-ref": purl(package), "name": package["name"], "version": package["version"], "purl": purl(package)}
    if package["description"]:
        made["description"] = " ".join(package["description"].split())
    if package["license"]:
        made["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if checksum := sums.get((package["name"], package["version"])):
        made["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["repository"]:
        made["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return made


def bill(product, manifest, features):
    about, sums = licences.metadata(manifest, *features), checksums(manifest)
    # The features of a product alone; metadata are those of the workspace.
    inside = linked(product, manifest, features)
    packages = {package["id"]: package for package in about["packages"] if (package["name"], package["version"]) in inside}
    nodes = {node["id"]: node for node in about["resolve"]["nodes"]}
    [root] = [package["id"] for package in packages.values() if package["name"] == product and package["source"] is None]
    needs, waiting = collections.OrderedDict(), [root]
    while waiting:
        at = waiting.pop()
        if at in needs:
            continue
        # Of kind None: neither tests nor build scripts.
        normal = [dep["pkg"] for dep in nodes[at]["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]
        needs[at] = [dep for dep in normal if dep in packages]
        waiting += needs[at]
    parts = sorted((at for at in needs if at != root), key=lambda at: purl(packages[at]))
    kind = "application" if any("bin" in target["kind"] for target in packages[root]["targets"]) else "library"
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(packages[root], sums, kind)},
        "components": [component(packages[at], sums) for at in parts],
        "dependencies": [
            {"ref": purl(packages[at]), "dependsOn": sorted({purl(packages[to]) for to in needs[at]})} for at in [root, *parts]
        ],
    }


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, product, manifest, features in PRODUCTS:
        made = bill(product, manifest, features)
        (folder / f"{name}.cdx.json").write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")
        print(f"{name}: {len(made['components'])} packages")


if __name__ == "__main__":
    main()
