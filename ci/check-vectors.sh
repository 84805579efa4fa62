#!/usr/bin/env bash
# Checks the conformance vectors under every chunking, with the command that users have.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo run --release --locked -p toolglot-cli -- check --cuts all tests/vectors/*.jsonl
