#!/usr/bin/env bash
# What people with many transcripts can expect: makes files of transcripts, reads them with `batch` and `stats` on one thread and on
# more, and prints rows a second, memory and scaling. Not part of ci/all.sh.
#
#   ci/data.sh [--gib N] [--threads 1,2]    the size of each file, 1 if not given; 10 takes some 40 GiB of disk
#   ci/data.sh --write ...                  also puts the table into docs/DATA.md
#   ci/data.sh --instructions               instructions a byte instead, counted by callgrind
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

work=$CARGO_TARGET_DIR/data
mkdir -p "$work/files"
install_pyarrow "$work/venv" || exit 77
if [[ " $* " == *" --instructions "* ]]; then need_valgrind || exit 77; fi
cargo build -q --release -p toolglot-cli --features parquet --locked
"$work/venv/bin/python" ci/data.py "$CARGO_TARGET_DIR/release/toolglot" "$work/files" "$@"
