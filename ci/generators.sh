#!/usr/bin/env bash
# The generators of which a test run tries a sample, whole: every marker followed by every other, every
# marker and a call of every dialect in quotations and in code, every prefix of every vector, every slip in
# a token of a call, every slip in a vector, and every vector that begins in its prompt.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
cargo test --locked --release -p toolglot-suite --lib -- --ignored contexts::all kept::all pairs::all prefixes::all prompts::all token_slips::all
