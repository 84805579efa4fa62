#!/usr/bin/env bash
# One version everywhere: manifests, lock files, header, packages.
#
#   ci/version.sh            check that all agree (ci/format.sh does it too)
#   ci/version.sh X.Y.Z      write this version everywhere; the changelog's heading is yours to write
set -euo pipefail
cd "$(dirname "$0")/.."
python3 - "$@" <<'PY'
import pathlib, re, subprocess, sys

NUMBER = r"(\d+\.\d+\.\d+)"
# Where a version is: files, and what stands around it there. Each file must have at least one.
PLACES = [
    (["Cargo.toml"], rf'(?m)^version = "{NUMBER}"'),
    (["*/Cargo.toml", "Cargo.toml", "bindings/*/Cargo.toml"], rf'version = "{NUMBER}", path = "'),
    (["bindings/c/Cargo.toml"], rf'(?m)^version = "{NUMBER}"'),
    (["**/Cargo.lock", "Cargo.lock"], rf'name = "toolglot[a-z-]*"\nversion = "{NUMBER}"'),
    (["bindings/wasm/package.json"], rf'"version": "{NUMBER}"'),
    (["include/toolglot.h"], rf'#define TOOLGLOT_VERSION "{NUMBER}"'),
    (["docs/WASM.md"], rf"toolglot-{NUMBER}\.tgz"),
    (["docs/WASM.md"], rf"/toolglot@{NUMBER}/"),
    (["CITATION.cff"], rf"(?m)^version: {NUMBER}$"),
    (["packaging/vcpkg/toolglot/vcpkg.json"], rf'"version-semver": "{NUMBER}"'),
    (["packaging/conan/conanfile.py", "flake.nix"], rf'(?m)^ +version = "{NUMBER}"'),
    (["packaging/debian/changelog"], rf"\A[a-z]+ \({NUMBER}-"),
]
# Programs of the tree itself, which nobody installs.
FREE = "0.0.0"
# They have no dependency of their own tree with a version.
BARE = {"fuzz/Cargo.toml", "tests/Cargo.toml", "scan/Cargo.toml"}

wanted = sys.argv[1] if len(sys.argv) > 1 else None
if wanted and not re.fullmatch(NUMBER, wanted):
    sys.exit(f"{wanted} is not a version X.Y.Z")
found, faults = {}, []
for patterns, around in PLACES:
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", *(f":(glob){p}" for p in patterns)],
                            check=True, capture_output=True, text=True).stdout.split()
    for name in sorted(set(listed)) or patterns:
        path = pathlib.Path(name)
        text = path.read_text(encoding="utf-8")
        hits = [hit for hit in re.finditer(around, text) if hit[1] != FREE]
        if not hits and name not in BARE and not name.endswith("Cargo.lock"):
            faults.append(f"{name}: no version where one is expected")
        for hit in reversed(hits):
            found.setdefault(hit[1], []).append(name)
            if wanted:
                text = text[:hit.start(1)] + wanted + text[hit.end(1):]
        if wanted:
            path.write_text(text, encoding="utf-8")
if not wanted and len(found) > 1:
    faults += [f"{version}: {', '.join(sorted(set(names)))}" for version, names in sorted(found.items())]
if faults:
    sys.exit("\n".join(faults))
places = sum(map(len, found.values()))
print(f"{wanted} is written in {places} places" if wanted else f"version {next(iter(found))} in {places} places")
PY
