#!/usr/bin/env bash
# The conformance vectors, under every way to cut them, with the command that users have.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo run --release --locked -p toolglot-cli -- check --cuts all tests/vectors/*.jsonl
