#!/usr/bin/env bash
# The documentation builds without a warning, and links between the pages of the repository are valid. (Examples in the
# documentation run with the tests.)
set -euo pipefail
cd "$(dirname "$0")/.."
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
# As docs.rs builds it.
RUSTDOCFLAGS="-D warnings" cargo doc -p toolglot --all-features --no-deps --locked
python3 ci/links.py
