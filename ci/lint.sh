#!/usr/bin/env bash
# Clippy over every target, the fuzz checks included; a warning is an error.
#
#   ci/lint.sh            also the fuzzer's program, and each feature set that a host may choose
#   ci/lint.sh --quick    the workspace with all features of the library
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
workspace clippy --all-targets -- -D warnings
if [[ ${1:-} == --quick ]]; then
  left_out "the fuzzer's program, each feature set"
  exit
fi

cargo clippy --manifest-path fuzz/Cargo.toml --no-default-features --bin replay --locked -- -D warnings
# The library as its hosts use it, without features.
cargo clippy -p toolglot --lib --tests --locked -- -D warnings
cargo clippy -p toolglot --lib --features bytes --locked -- -D warnings
cargo clippy -p toolglot-tools --lib --tests --features tiktoken --locked -- -D warnings
cargo clippy -p toolglot-agent --lib --tests --locked -- -D warnings
cargo clippy -p toolglot-agent --lib --tests --features tokio --locked -- -D warnings
cargo clippy -p toolglot-agent --lib --tests --all-features --locked -- -D warnings
cargo clippy -p toolglot-wasm --features agent --locked -- -D warnings
cargo clippy -p toolglot-cli --all-targets --no-default-features --locked -- -D warnings
cargo clippy -p toolglot-cli --all-targets --features gateway,serve --locked -- -D warnings
