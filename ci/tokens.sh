#!/usr/bin/env bash
# Counts tokens in real vocabularies: the feature `tiktoken`, whose tests no other stage builds.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
cargo test -q -p toolglot-tools --features tiktoken --lib --locked -- prompt::tokens
