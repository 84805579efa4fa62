#!/usr/bin/env bash
# Runs Rust tests under a sanitizer of the Rust compiler: `ci/campaign/sanitizers.sh [address|thread]`, both without an argument.
#
# The stable compiler has the sanitizers, but only for those who ask for unstable options. The standard library is rebuilt with them
# from its sources, a component of rustup: the thread sanitizer would not know its locks otherwise. First each sanitizer must find its
# faults (control.rs).
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

target=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_BOOTSTRAP=1 CARGO_INCREMENTAL=0
export TOOLGLOT_SPLITS=${TOOLGLOT_SPLITS:-10} PROPTEST_CASES=${PROPTEST_CASES:-16}

if ! rustup component add rust-src; then
  echo "SKIPPED: no sources of the standard library (rustup component add rust-src)"
  exit 77
fi

# sanitized SANITIZER COMMAND...: a command of cargo, with everything instrumented.
sanitized() {
  local sanitizer=$1 command=$2
  shift 2
  RUSTFLAGS="-Zsanitizer=$sanitizer" \
    cargo "$command" -q -Zbuild-std --target "$target" --target-dir "$CARGO_TARGET_DIR/$sanitizer" "$@"
}

# control SANITIZER FAULT...: it finds each fault.
control() {
  local sanitizer=$1 folder=$CARGO_TARGET_DIR/$1/control program out
  shift
  mkdir -p "$folder"
  printf '[package]\nname = "control"\nedition = "2024"\n[[bin]]\nname = "control"\npath = "%s"\n[workspace]\n' \
    "$PWD/ci/campaign/control.rs" > "$folder/Cargo.toml"
  sanitized "$sanitizer" build --manifest-path "$folder/Cargo.toml"
  program=$CARGO_TARGET_DIR/$sanitizer/$target/debug/control
  for fault in "$@"; do
    # A race is not found in every run.
    for _ in 1 2 3 4 5 6 7 8; do
      if ! out=$("$program" "$fault" 2>&1); then
        grep -q "Sanitizer: " <<< "$out" || { echo "$out"; exit 1; }
        echo "control: $fault found"
        continue 2
      fi
    done
    echo "FAILED: the $sanitizer sanitizer lets \"$fault\" pass"
    exit 1
  done
}

(($# > 0)) || set -- address thread
for sanitizer in "$@"; do
  echo "== $sanitizer"
  case $sanitizer in
    address)
      control address overflow freed
      # Where unsafe code is: the scanner and the C interface. The suite reads every vector. One of its tests runs on a
      # stack that is too small for the frames of checked code.
      sanitized address test --locked -p toolglot-scan -p toolglot-c --lib
      sanitized address test --locked -p toolglot-suite --lib -- --skip hosts::nothing_recurses_on_input
      ;;
    thread)
      control thread race
      sanitized thread test --locked -p toolglot-c --lib
      sanitized thread test --locked -p toolglot-suite --lib -- hosts:: threads
      ;;
    *)
      echo "no sanitizer $sanitizer; there are address and thread" >&2
      exit 2
      ;;
  esac
done
