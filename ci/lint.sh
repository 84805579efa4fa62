#!/usr/bin/env bash
# Clippy over every target, the fuzz checks included; a warning is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
cargo clippy --workspace --all-targets --locked -- -D warnings
cargo clippy --manifest-path fuzz/Cargo.toml --no-default-features --bin replay --locked -- -D warnings
