#!/usr/bin/env bash
# Runs Rust tests under a sanitizer of the Rust compiler: `ci/campaign/sanitizers.sh [address|thread]`, both without an argument.
#
# The stable compiler has the sanitizers, but only for those who ask for unstable options. The standard library is not
# rebuilt: what is generic is compiled here and checked, what is not is not. First each sanitizer must find its faults
# (control.rs).
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

target=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_BOOTSTRAP=1 CARGO_INCREMENTAL=0
export TOOLGLOT_SPLITS=${TOOLGLOT_SPLITS:-10} PROPTEST_CASES=${PROPTEST_CASES:-16}

must_fail() {
  local sanitizer=$1 fault=$2 out
  if out=$("$CARGO_TARGET_DIR/$sanitizer/control" "$fault" 2>&1); then
    echo "FAILED: the $sanitizer sanitizer lets \"$fault\" pass"
    exit 1
  fi
  grep -q "Sanitizer: " <<< "$out" || { echo "$out"; exit 1; }
  echo "control: $fault found"
}

control() {
  local sanitizer=$1
  mkdir -p "$CARGO_TARGET_DIR/$sanitizer"
  rustc --edition 2024 -g -Zsanitizer="$sanitizer" ci/campaign/control.rs -o "$CARGO_TARGET_DIR/$sanitizer/control"
  shift
  for fault in "$@"; do must_fail "$sanitizer" "$fault"; done
}

sanitized() {
  local sanitizer=$1
  shift
  RUSTFLAGS="-Zsanitizer=$sanitizer" cargo test -q --locked --target "$target" --target-dir "$CARGO_TARGET_DIR/$sanitizer" "$@"
}

(($# > 0)) || set -- address thread
for sanitizer in "$@"; do
  echo "== $sanitizer"
  case $sanitizer in
    address)
      control address overflow freed
      # Where unsafe code is: the scanner and the C interface. The suite reads every vector. One of its tests runs on a
      # stack that is too small for the frames of checked code.
      sanitized address -p toolglot-scan -p toolglot-c --lib
      sanitized address -p toolglot-suite --lib -- --skip hosts::nothing_recurses_on_input
      ;;
    thread)
      control thread race
      sanitized thread -p toolglot-c --lib
      sanitized thread -p toolglot-suite --lib -- hosts:: threads
      ;;
    *)
      echo "no sanitizer $sanitizer; there are address and thread" >&2
      exit 2
      ;;
  esac
done
