#!/usr/bin/env bash
# All tests, those in the documentation too.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo test --workspace --locked
