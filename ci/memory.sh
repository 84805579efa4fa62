#!/usr/bin/env bash
# What a stream holds, and that chunks of text do not allocate (benches/memory.rs).
set -euo pipefail
cd "$(dirname "$0")/.."
CARGO_PROFILE_BENCH_DEBUG=false cargo bench -q -p toolglot --bench memory --locked
