#!/usr/bin/env bash
# All tests, those in the documentation too.
#
#   ci/test.sh            vectors of up to 256 bytes in every 3-way split, longer ones in a sample
#   ci/test.sh --quick    of up to 40 bytes, all 2-way splits as ever; fewer random inputs; with all features of the library alone
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
# The same cases each time; PROPTEST_RNG_SEED= PROPTEST_CASES=100000 looks for others.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED-1}
[[ -n $PROPTEST_RNG_SEED ]] || unset PROPTEST_RNG_SEED
if [[ ${1:-} == --quick ]]; then export TOOLGLOT_SPLITS=40 PROPTEST_CASES=${PROPTEST_CASES-96}; fi
# The vectors that ci/c.sh and ci/cpp.sh read are made by one of the tests.
export TOOLGLOT_FLAT=$CARGO_TARGET_DIR/c
mkdir -p "$TOOLGLOT_FLAT"
# What fails in one place must not hide what fails in another.
test_workspace --no-fail-fast
# The library as its hosts have it, without features.
if [[ ${1:-} != --quick ]]; then cargo test -p toolglot --locked; fi
