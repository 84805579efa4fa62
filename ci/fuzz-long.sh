#!/usr/bin/env bash
# Fuzzes for hours, continuing from the inputs that earlier runs found new (fuzz/corpus-run/).
#
#   ci/fuzz-long.sh            eight hours, divided among the targets
#   ci/fuzz-long.sh 1 builtin  one hour for this target
#
# A finding does not stop the run: it is kept in fuzz/artifacts/ and reported at the end with status 1. Once understood,
# it moves to fuzz/regressions/TARGET/ under a descriptive name; the tests replay it from then on.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh

hours=${1:-8}
targets=(chunking builtin user_dialect escape encode json pythonic tagged snapshot agent_run template gguf)
if (($# > 1)); then targets=("${@:2}"); fi
seconds=$((hours * 3600 / ${#targets[@]}))

build_fuzz "${targets[@]}" || exit $?
for target in "${targets[@]}"; do
  run="fuzz/corpus-run/$target"
  mkdir -p "$run" "fuzz/artifacts/$target"
  echo "$target: $seconds seconds"
  RUST_BACKTRACE=0 "$(fuzz_program "$target")" "$run" "fuzz/corpus/$target" "fuzz/regressions/$target" \
    -fork=1 -ignore_crashes=1 -ignore_timeouts=1 -ignore_ooms=1 \
    -dict=fuzz/markers.dict -max_len=4096 -timeout=10 -max_total_time="$seconds" \
    -artifact_prefix="fuzz/artifacts/$target/" > "fuzz/artifacts/$target.log" 2>&1 || true
  grep -E '^#[0-9]+: cov' "fuzz/artifacts/$target.log" | tail -n 1 || true
  # Of inputs with the same coverage, keep the smallest.
  rm -rf "$run.smallest"
  mkdir "$run.smallest"
  "$(fuzz_program "$target")" -merge=1 "$run.smallest" "$run" > /dev/null 2>&1 || true
  rm -rf "$run"
  mv "$run.smallest" "$run"
done
found=$(find fuzz/artifacts -mindepth 2 -type f)
if [[ -n $found ]]; then
  printf 'findings:\n%s\n' "$found"
  exit 1
fi
echo "no findings"
