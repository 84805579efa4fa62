#!/usr/bin/env bash
# The generators of which a test run tries a sample, whole: every marker followed by every other, and every prefix of every vector.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
cargo test --locked --release -p toolglot-suite --lib -- --ignored pairs::all prefixes::all
