#!/usr/bin/env bash
# XGrammar and llguidance read the grammars that the command exports, accept the calls that it writes and refuse others. The
# packages are installed below target/ and nowhere else.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

venv=$CARGO_TARGET_DIR/grammar-venv
wanted=tests/grammar/requirements.txt
if ! cmp -s "$wanted" "$venv/installed.txt"; then
  # Without their dependencies: tensors and tokenizers are not needed here, and are huge.
  if ! python3 -m venv "$venv" 2> /dev/null || ! "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps -r "$wanted"; then
    echo "SKIPPED: xgrammar and llguidance cannot be installed (no venv, or no registry), so no grammar was read with them"
    exit 77
  fi
  cp "$wanted" "$venv/installed.txt"
fi

cargo build -q -p toolglot-cli --locked
"$venv/bin/python" tests/grammar/check.py "$CARGO_TARGET_DIR/debug/toolglot" tests/golden/tools.json
