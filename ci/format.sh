#!/usr/bin/env bash
# Checks that everything is formatted with rustfmt's defaults, and that all files name one version.
set -euo pipefail
cd "$(dirname "$0")/.."
ci/version.sh
cargo fmt --all --check
cargo fmt --manifest-path fuzz/Cargo.toml --check
cargo fmt --manifest-path ci/compare/Cargo.toml --check
cargo fmt --manifest-path bindings/c/header/Cargo.toml --check
cargo fmt --manifest-path benches/bindings/Cargo.toml --check
