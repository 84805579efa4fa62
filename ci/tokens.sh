#!/usr/bin/env bash
# Tokens counted in real vocabularies: the feature `tiktoken`, which no other stage builds with its tests.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
cargo test -q -p toolglot-tools --features tiktoken --lib --locked -- prompt::tokens
