#!/usr/bin/env bash
# All tests, including those in the documentation.
#
#   ci/test.sh            all 3-way splits of vectors of up to 256 bytes, a sample for longer ones
#   ci/test.sh --quick    3-way splits up to 40 bytes only, still all 2-way splits; fewer random inputs; only with all features
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
# The same cases each time; PROPTEST_RNG_SEED= PROPTEST_CASES=100000 tries others.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED-1}
[[ -n $PROPTEST_RNG_SEED ]] || unset PROPTEST_RNG_SEED
if [[ ${1:-} == --quick ]]; then export TOOLGLOT_SPLITS=30 PROPTEST_CASES=${PROPTEST_CASES-96}; fi
# One of the tests writes the vectors for ci/c.sh and ci/cpp.sh.
export TOOLGLOT_FLAT=$CARGO_TARGET_DIR/c
mkdir -p "$TOOLGLOT_FLAT"
# Tests that wait for time limits, beside those that work.
export RUST_TEST_THREADS=${RUST_TEST_THREADS-4}
# One failure must not hide another.
workspace test --no-fail-fast
if [[ ${1:-} == --quick ]]; then
  left_out "most 3-way splits, the library without features, the command with its servers"
  exit
fi
# The library as its hosts use it, without features.
cargo test -p toolglot --locked
# The command with its servers.
cargo test -p toolglot-cli --features gateway,serve --test cli --locked -- serve gateway help
