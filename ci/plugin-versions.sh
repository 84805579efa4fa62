#!/usr/bin/env bash
# The plug-ins for vLLM and SGLang against the last six versions of each server: modules of pinned wheels, fetched without the
# rest and unpacked without dependencies. Not part of ci/all.sh: it needs a registry.
#
#   ci/plugin-versions.sh            compare
#   ci/plugin-versions.sh --write    rewrite the digests of the modules
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

work=$CARGO_TARGET_DIR/plugin-versions
venv=$work/venv
mkdir -p "$work"
# pip's own index client reads the registry.
if [[ ! -x $venv/bin/python ]] && ! python3 -m venv "$venv" 2> /dev/null; then
  echo "SKIPPED: no venv"
  exit 77
fi
"$venv/bin/python" bindings/python/tests/plugins/versions.py ${1:+"$1"} "$work"
