#!/usr/bin/env bash
# Counts the cost of a chunk through each binding, under callgrind, all in one run, and compares it with ci/bindings.budget.
#
#   ci/bindings.sh                     Rust, C, C++
#   ci/bindings.sh --python            Python too, with the release wheel that ci/wheels.sh builds and installs
#   ci/bindings.sh [..] --record       rewrite ci/bindings.budget and the table of docs/BINDINGS.md
#
# Counts repeat exactly for one binary on one processor family, whatever else the machine does.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

need_valgrind || exit 77
if ! command -v cc > /dev/null || ! command -v c++ > /dev/null; then
  echo "SKIPPED: no C and C++ compiler"
  exit 77
fi
if [[ ${1:-} == --python ]]; then
  shift
  ci/wheels.sh native || exit
  set -- --python "$CARGO_TARGET_DIR/wheel-fresh/bin/python" "$@"
fi
out=$CARGO_TARGET_DIR/bindings
mkdir -p "$out"
cargo build -q -p toolglot-c --release --locked
cargo build -q --manifest-path benches/bindings/Cargo.toml --release --locked
cp "$CARGO_TARGET_DIR/release/direct" "$out/"
link=("$CARGO_TARGET_DIR/release/libtoolglot.a" -lpthread -ldl -lm)
warn=(-O2 -Wall -Wextra -Wpedantic -Werror -Iinclude)
cc -std=c11 "${warn[@]}" benches/bindings/bench.c "${link[@]}" -o "$out/c"
c++ -std=c++17 "${warn[@]}" benches/bindings/bench.cc "${link[@]}" -o "$out/cpp"
python3 ci/bindings.py "$out" "$@"
