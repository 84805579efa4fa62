#!/usr/bin/env bash
# Measures which lines of the core and the tools layer the quick tests reach, and writes the table of docs/TRUST.md.
#
#   ci/campaign/coverage.sh            builds, runs, writes the table
#   ci/campaign/coverage.sh --lines    also lists the lines that no test reaches, in target/coverage/lines.txt
#
# The compiler counts by itself; the reader of its counts is LLVM's, of the compiler's own version.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

version=$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
for tool in profdata cov; do
  command -v "llvm-$tool-$version" > /dev/null || install_debian "llvm-$version" || {
    echo "SKIPPED: llvm-$tool-$version is missing and could not be installed"
    exit 77
  }
done

out=$CARGO_TARGET_DIR/coverage
mkdir -p "$out"
rm -f "$out"/*.profraw
packages=(-p toolglot -p toolglot-scan -p toolglot-suite -p toolglot-tools)
cover() {
  RUSTFLAGS="-C instrument-coverage" LLVM_PROFILE_FILE="$out/%p-%m.profraw" CARGO_INCREMENTAL=0 \
    TOOLGLOT_SPLITS=${TOOLGLOT_SPLITS:-40} PROPTEST_CASES=${PROPTEST_CASES:-96} \
    cargo test --no-fail-fast --locked --target-dir "$out" "${packages[@]}" --lib "$@"
}
cover --no-run --message-format=json 2> /dev/null | python3 -c '
import json, sys
for line in sys.stdin:
    made = json.loads(line)
    if made.get("profile", {}).get("test") and made.get("executable"):
        print(made["executable"])
' > "$out/programs.txt"
cover -q > "$out/tests.log" 2>&1 || { tail -n 40 "$out/tests.log"; exit 1; }
"llvm-profdata-$version" merge -sparse "$out"/*.profraw -o "$out/all.profdata"
objects=()
while read -r program; do objects+=(-object "$program"); done < "$out/programs.txt"
read=("${objects[@]:1}" -instr-profile "$out/all.profdata" -ignore-filename-regex '(registry|rustc|/tests?/|tests\.rs|testkit|fuzz|target|/agent/|/gateway/)')
"llvm-cov-$version" export -summary-only "${read[@]}" > "$out/summary.json"
python3 ci/campaign/coverage.py "$out/summary.json"
if [[ ${1:-} == --lines ]]; then
  "llvm-cov-$version" show -show-line-counts-or-regions=false "${read[@]}" | grep -E '^/|^ +[0-9]+\| +0\|' > "$out/lines.txt"
  echo "$out/lines.txt"
fi
