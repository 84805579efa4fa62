#!/usr/bin/env bash
# What a patch release may not change in the crates that hosts link: cargo-semver-checks compares them with the commit that last
# recorded the API in ci/public-api. An intended change is recorded there (ci/public-api.sh --record), and is the new baseline.
#
# Not part of ci/all.sh: it builds cargo-semver-checks, and the documentation of each crate twice.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

# Its version determines which versions of rustdoc it understands.
cargo_tool cargo-semver-checks 0.51.0 || exit
baseline=$(git log -1 --format=%H -- ci/public-api 2> /dev/null || true)
if [[ -z $baseline ]] || ! git cat-file -e "$baseline^{tree}"; then
  echo "SKIPPED: the commit that recorded the API is not in this clone"
  exit 77
fi
CARGO_TARGET_DIR=$CARGO_TARGET_DIR/semver-checks/doc "$tool" semver-checks --baseline-rev "$baseline" --release-type patch --all-features \
  -p toolglot-scan -p toolglot -p toolglot-tools -p toolglot-agent
