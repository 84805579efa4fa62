#!/usr/bin/env bash
# Renders chat templates of the field byte by byte as Jinja2 does, and derives a dialect from each that writes calls: what it
# reads back is the table in docs/DERIVED.md. The templates are those of ci/templates.sh.
#
#   ci/derive.sh                 compare with docs/DERIVED.md
#   ci/derive.sh --write         rewrite it
#   ci/derive.sh --show us       show what derived dialects do not read; or the name of a template
#
# Not part of ci/all.sh: it downloads some 120 MB. Templates made at random are part of the tests of toolglot-tools; more of them:
#   TOOLGLOT_TEMPLATES=1000 cargo test -p toolglot-tools --lib derive
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

# shellcheck source=ci/template-archives.sh
. ci/template-archives.sh
cargo build -q -p toolglot-cli --locked
"$venv/bin/python" tests/templates/same.py "$CARGO_TARGET_DIR/debug/toolglot" "$work/unpacked"
"$venv/bin/python" tests/templates/derive.py "$CARGO_TARGET_DIR/debug/toolglot" "$work/unpacked" "$@"
