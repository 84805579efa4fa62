#!/usr/bin/env bash
# The oldest compiler that the manifest promises: not newer than the installed one, not older than the library's dependencies
# need, and able to build the library and the command.
#
#   ci/msrv.sh            installs that compiler with rustup if it is missing
#   ci/msrv.sh --quick    uses it only if it is installed
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh

python3 - <<'PY'
import json, re, subprocess, sys

def version(text):
    return tuple(int(n) for n in (re.match(r"[\d.]+", text).group().split(".") + ["0", "0"])[:3])

command = ["cargo", "metadata", "--format-version", "1", "--locked"]
meta = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
packages = {package["id"]: package for package in meta["packages"]}
nodes = {node["id"]: node for node in meta["resolve"]["nodes"]}
own = [id for id in meta["workspace_members"] if packages[id]["rust_version"]]
promised = max(version(packages[id]["rust_version"]) for id in own)
at_hand = version(subprocess.run(["rustc", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[1])

# What users build: everything reached without test dependencies.
seen, todo = set(), list(own)
while todo:
    id = todo.pop()
    if id in seen:
        continue
    seen.add(id)
    for dep in nodes[id]["deps"]:
        if any(kind["kind"] != "dev" for kind in dep["dep_kinds"]):
            todo.append(dep["pkg"])

show = lambda v: ".".join(map(str, v))
print(f"promised {show(promised)}, at hand {show(at_hand)}, {len(seen)} packages")
faults = [p for p in (packages[id] for id in seen) if p["rust_version"] and version(p["rust_version"]) > promised]
for package in faults:
    print(f"{package['name']} {package['version']} needs {package['rust_version']}")
sys.exit(1 if faults or promised > at_hand else 0)
PY

wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
installed() { rustup toolchain list 2> /dev/null | cut -d' ' -f1 | grep -m 1 -E "^$wanted(\.[0-9]+)?-"; }
toolchain=$(installed || true)
if [[ -z $toolchain && ${1:-} != --quick ]] && command -v rustup > /dev/null; then
  rustup toolchain install -q --profile minimal "$wanted" || true
  toolchain=$(installed || true)
fi
if [[ -n $toolchain ]]; then
  CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/msrv cargo "+$toolchain" check -q -p toolglot -p toolglot-cli --locked
  echo "checked with $toolchain"
else
  lacking "a build with compiler $wanted, which is not installed"
fi
