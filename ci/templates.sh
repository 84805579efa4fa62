#!/usr/bin/env bash
# Reads back what models' own chat templates write: the templates and test inputs are in the source archives of two servers'
# packages, which are fetched by pinned version and digest, unpacked below target/ and never built. The strings in the servers'
# own tests are parsed under several chunkings too (tests/templates/outputs.py).
#
#   ci/templates.sh                 compare with docs/TEMPLATES.md
#   ci/templates.sh --write         rewrite it
#   ci/templates.sh --show WORD     show the cells with differences, by template, turn or dialect; `template`: losses of templates
#
# Not part of ci/all.sh: it downloads some 120 MB.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

here=tests/templates
work=$CARGO_TARGET_DIR/templates
venv=$work/venv
mkdir -p "$work"
if ! install_packages "$venv" "$here/requirements.txt"; then
  echo "SKIPPED: the packages that render templates cannot be installed (no venv, or no registry)"
  exit 77
fi
if ! cmp -s "$here/archives.txt" "$work/fetched.txt"; then
  rm -rf "$work/unpacked" "$work/archives"
  if ! "$venv/bin/python" "$here/fetch.py" "$here/archives.txt" "$work/archives"; then
    echo "SKIPPED: the archives cannot be fetched"
    exit 77
  fi
  mkdir -p "$work/unpacked"
  for archive in "$work"/archives/*.tar.gz; do tar -xzf "$archive" -C "$work/unpacked"; done
  rm -rf "$work/archives"
  cp "$here/archives.txt" "$work/fetched.txt"
fi

cargo build -q -p toolglot-cli --locked
export PYTHONDONTWRITEBYTECODE=1
"$venv/bin/python" "$here/outputs.py" "$CARGO_TARGET_DIR/debug/toolglot" "$work/unpacked"
"$venv/bin/python" "$here/check.py" "$CARGO_TARGET_DIR/debug/toolglot" "$work/unpacked" "$@"
