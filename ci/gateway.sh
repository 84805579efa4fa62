#!/usr/bin/env bash
# The official clients of OpenAI, Anthropic and Ollama, for Python and JavaScript, and the AI SDK talk through the gateway. They are
# installed only below target/.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

venv=$CARGO_TARGET_DIR/clients-venv
wanted=tests/clients/requirements.txt
if ! install_packages "$venv" "$wanted"; then
  echo "SKIPPED: the official clients cannot be installed (no venv, or no registry), so the gateway was not tested with them"
  exit 77
fi

# Without Node.js or a registry, the other clients are tested alone; the last line says so.
packages=$CARGO_TARGET_DIR/js-clients
wanted=tests/clients/package.json
without=
mkdir -p "$packages"
if ! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2> /dev/null; then
  without="no Node.js 20 or later"
  packages=-
elif ! cmp -s "$wanted" "$packages/installed.json"; then
  cp "$wanted" "$packages/package.json"
  if npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$packages" > "$packages/npm.log" 2>&1; then
    cp "$wanted" "$packages/installed.json"
  else
    without="the JavaScript clients cannot be installed"
    packages=-
  fi
fi

# The program that the tests of the gateway use.
cargo test -q --workspace --locked --test gateway --no-run
PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" tests/clients/gateway_clients.py "$CARGO_TARGET_DIR/debug/toolglot-gateway" "$packages" tests/vectors/*.jsonl

# The README's agent: the client of OpenAI, `toolglot gateway`, and a server that knows no tools.
cargo build -q -p toolglot-cli --features gateway --locked
PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" tests/clients/gateway_agent.py "$CARGO_TARGET_DIR/debug/toolglot"

# Verify the systemd unit with a program that exists here.
if command -v systemd-analyze > /dev/null; then
  unit=$(mktemp -d)
  trap 'rm -rf "$unit"' EXIT
  sed "s|^ExecStart=[^ ]*|ExecStart=$CARGO_TARGET_DIR/debug/toolglot-gateway|" gateway/toolglot-gateway.service > "$unit/toolglot-gateway.service"
  systemd-analyze verify "$unit/toolglot-gateway.service"
else
  echo "systemd-analyze is missing: the unit was not verified"
fi
if [[ -n $without ]]; then echo "SKIPPED in part: $without, so the JavaScript clients were not tested"; fi
