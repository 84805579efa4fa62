#!/usr/bin/env bash
# The documentation builds without a warning, and links between the pages of the repository are valid. (Examples in the
# documentation run with the tests.)
set -euo pipefail
cd "$(dirname "$0")/.."
# With all features of the library, as docs.rs builds it, and as ci/lint.sh has checked it.
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --features toolglot/futures --no-deps --locked
python3 ci/links.py
