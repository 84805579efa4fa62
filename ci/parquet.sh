#!/usr/bin/env bash
# Parquet files through the command, against the same records as JSONL. Not part of ci/all.sh: the crates for Parquet double the time
# that the command takes to build.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

work=$CARGO_TARGET_DIR/parquet
mkdir -p "$work/files"
install_pyarrow "$work/venv" || exit 77
cargo build -q -p toolglot-cli --features parquet --locked
"$work/venv/bin/python" cli/tests/parquet.py "$CARGO_TARGET_DIR/debug/toolglot" "$work/files"
