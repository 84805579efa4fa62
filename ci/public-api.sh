#!/usr/bin/env bash
# The public API of the crates that hosts link, compared with the record in ci/public-api, so that no change is accidental. Uses
# nightly rustdoc with all features.
#
#   ci/public-api.sh            compare
#   ci/public-api.sh --record   rewrite the files; a removed or changed line needs a reason in the commit that records it
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

if ! cargo +nightly --version > /dev/null 2>&1; then
  echo "SKIPPED: no nightly toolchain, whose rustdoc exports the API (rustup toolchain install nightly --profile minimal)"
  exit 77
fi
# Its version determines which nightlies it understands, and how types are written.
cargo_tool cargo-public-api 0.52.0 || exit

wrong=0
for package in toolglot-scan toolglot toolglot-tools toolglot-agent; do
  written=ci/public-api/$package.txt
  found=$CARGO_TARGET_DIR/public-api/$package.txt
  # Derived and automatic impls are promises too: a type that is no longer `Clone` or `Send` breaks hosts. Left out: methods
  # that follow from an impl, and automatic traits that hosts do not rely on.
  CARGO_TARGET_DIR=$CARGO_TARGET_DIR/public-api/doc "$tool" public-api -p "$package" --all-features -s --color=never \
    > "$found.all" 2> "$found.log" || { cat "$found.log"; exit 1; }
  grep -vE -e '^impl.* !?core::(marker::(Freeze|UnsafeUnpin)|panic::unwind_safe::[A-Za-z]+) for ' \
    -e '::(clone\(&self\)|fmt\(&self, &mut core::fmt::Formatter|eq\(&self, &|hash<)' "$found.all" > "$found"
  if [[ ${1:-} == --record ]]; then
    mkdir -p ci/public-api
    cp "$found" "$written"
  elif ! diff -u "$written" "$found"; then
    wrong=1
  fi
  echo "$package: $(wc -l < "$found") items"
done
if ((wrong)); then
  echo "the public API has changed: if that is meant, run ci/public-api.sh --record and say why in the commit"
  exit 1
fi
