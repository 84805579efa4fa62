#!/usr/bin/env bash
# Builds the fuzz targets and runs each for a while, from the committed corpus.
#
#   ci/fuzz.sh               20 seconds for each target
#   ci/fuzz.sh 600           600 seconds for each
#   ci/fuzz.sh 600 chunking  only this target
#
# FUZZ_SEED=1 begins with the same choices each time.
#
# The targets are those of `cargo fuzz`, which works too; this script needs neither it nor a nightly compiler, because the
# engine is safe code and nothing but coverage is asked of the compiler. Inputs that reach something new are kept in
# fuzz/corpus-run/. An input that breaks a check is written to fuzz/artifacts/, and the script ends with status 1.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh

seconds=${1:-20}
targets=(chunking builtin user_dialect escape encode json pythonic tagged)
if (($# > 1)); then targets=("${@:2}"); fi

build_fuzz "${targets[@]}" || exit $?
status=0
for target in "${targets[@]}"; do
  mkdir -p "fuzz/corpus-run/$target" "fuzz/artifacts/$target"
  log="fuzz/artifacts/$target.log"
  echo "$target: $seconds seconds"
  if ! RUST_BACKTRACE=0 "$(fuzz_program "$target")" "fuzz/corpus-run/$target" "fuzz/corpus/$target" "fuzz/regressions/$target" \
    -seed="${FUZZ_SEED:-0}" -dict=fuzz/markers.dict -max_len=1024 -timeout=10 -max_total_time="$seconds" -print_final_stats=1 \
    -artifact_prefix="fuzz/artifacts/$target/" > "$log" 2>&1; then
    status=1
    grep -v -E '^#|DE: |^\s*$' "$log" | tail -n 25 || true
    echo "look at it with: cargo run --manifest-path fuzz/Cargo.toml --release --no-default-features --bin replay -- $target FILE"
  fi
  grep -E 'number_of_executed_units|new_units_added' "$log" || true
done
exit $status
