#!/usr/bin/env bash
# Builds the fuzz targets and runs each for a while, from the committed corpus.
#
#   ci/fuzz.sh               20 seconds for each target
#   ci/fuzz.sh 600           600 seconds for each
#   ci/fuzz.sh 600 chunking  only this target
#
# FUZZ_SEED=1 starts with the same choices each time.
#
# The targets are those of `cargo fuzz`, which works too. This script needs neither it nor a nightly compiler, because the
# engine is safe code and the compiler is asked only for coverage. Inputs with new coverage are kept in fuzz/corpus-run/. An
# input that fails a check is written to fuzz/artifacts/, and the script ends with status 1.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh

seconds=${1:-20}
targets=(chunking builtin user_dialect escape encode json pythonic tagged snapshot agent_run template gguf)
if (($# > 1)); then targets=("${@:2}"); fi

build_fuzz "${targets[@]}" || exit $?

fuzz() {
  local target=$1 log="fuzz/artifacts/$1.log" bad=0
  mkdir -p "fuzz/corpus-run/$target" "fuzz/artifacts/$target"
  RUST_BACKTRACE=0 "$(fuzz_program "$target")" "fuzz/corpus-run/$target" "fuzz/corpus/$target" "fuzz/regressions/$target" \
    -seed="${FUZZ_SEED:-0}" -dict=fuzz/markers.dict -max_len=1024 -timeout=10 -max_total_time="$seconds" -print_final_stats=1 \
    -artifact_prefix="fuzz/artifacts/$target/" > "$log" 2>&1 || bad=1
  echo "$target, $seconds seconds:" $(sed -n 's/^stat::\(number_of_executed_units\|new_units_added\): */\1 /p' "$log")
  if ((bad)); then
    grep -v -E '^#|DE: |^\s*$' "$log" | tail -n 25 || true
    echo "reproduce it with: cargo run --manifest-path fuzz/Cargo.toml --release --no-default-features --bin replay -- $target FILE"
  fi
  return $bad
}

# As many at once as there are processors.
status=0
running=0
finish_one() {
  wait -n || status=1
  running=$((running - 1))
}
for target in "${targets[@]}"; do
  if ((running == $(nproc))); then finish_one; fi
  fuzz "$target" &
  running=$((running + 1))
done
while ((running > 0)); do finish_one; done
exit $status
