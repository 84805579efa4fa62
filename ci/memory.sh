#!/usr/bin/env bash
# What a stream holds, and that chunks of text allocate nothing (benches/memory.rs).
set -euo pipefail
cd "$(dirname "$0")/.."
cargo bench -q -p toolglot --bench memory --locked
