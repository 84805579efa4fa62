#!/usr/bin/env bash
# The plug-ins for vLLM and SGLang against the last six versions of each server: modules of pinned wheels, fetched without the
# rest of them and unpacked without what they depend on. Not part of ci/all.sh: it needs a registry.
#
#   ci/plugin-versions.sh            compare
#   ci/plugin-versions.sh --write    store the digests of the modules anew
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
  echo "SKIPPED: there is no venv"
  exit 77
fi
"$venv/bin/python" bindings/python/tests/plugins/versions.py ${1:+"$1"} "$work"
