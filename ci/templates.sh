#!/usr/bin/env bash
# Reads back what models' own chat templates write: the templates and test inputs are in the source archives of two servers'
# packages, which are fetched by pinned version and digest, unpacked below target/ and never built. The strings in the servers'
# own tests are parsed under several chunkings too (tests/templates/outputs.py); what llama.cpp's tests expect of an output is compared with
# what is read (tests/templates/expected.py); the layouts of dialects are compared with the prompts and results that the templates
# write (tests/templates/layouts.py); and what the templates write is read with the dialects of their models' names, too
# (tests/templates/named.py).
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

# shellcheck source=ci/template-archives.sh
. ci/template-archives.sh
cargo build -q -p toolglot-cli --locked
"$venv/bin/python" "$here/outputs.py" "$CARGO_TARGET_DIR/debug/toolglot" "$work/unpacked"
"$venv/bin/python" "$here/expected.py" "$CARGO_TARGET_DIR/debug/toolglot" "$work/unpacked"
"$venv/bin/python" "$here/named.py" "$CARGO_TARGET_DIR/debug/toolglot" "$work/unpacked"
"$venv/bin/python" "$here/layouts.py" "$CARGO_TARGET_DIR/debug/toolglot" "$work/unpacked"
"$venv/bin/python" "$here/check.py" "$CARGO_TARGET_DIR/debug/toolglot" "$work/unpacked" "$@"
