#!/usr/bin/env bash
# The official OpenAI client reads the command's output. The client is installed only below target/.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

venv=$CARGO_TARGET_DIR/clients-venv
wanted=tests/clients/requirements.txt
if ! install_packages "$venv" "$wanted"; then
  echo "SKIPPED: the official client cannot be installed (no venv, or no registry), so it was not tested"
  exit 77
fi

# The program that the tests of the command use.
cargo test -q --workspace --locked --test cli --no-run
PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" tests/clients/openai_client.py "$CARGO_TARGET_DIR/debug/toolglot" tests/vectors/*.jsonl
