#!/usr/bin/env bash
# XGrammar and llguidance read the grammars that the command exports, accept the calls that it writes, and reject others.
# The packages are installed only below target/.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

venv=$CARGO_TARGET_DIR/grammar-venv
wanted=tests/grammar/requirements.txt
# Without dependencies: tensors and tokenizers are not needed here, and are huge.
if ! install_packages "$venv" "$wanted" --no-deps; then
  echo "SKIPPED: xgrammar and llguidance cannot be installed (no venv, or no registry), so no grammar was tested with them"
  exit 77
fi

cargo build -q -p toolglot-cli --locked
"$venv/bin/python" tests/grammar/check.py "$CARGO_TARGET_DIR/debug/toolglot" tests/golden/tools.json
