#!/usr/bin/env bash
# Counts instructions under callgrind: the cost of a chunk, and whether costs grow with the input (benches/instructions.rs).
#
#   ci/instructions.sh            inputs of up to 1 MiB, in every chunking (an hour or two)
#   ci/instructions.sh --short    small inputs, for every change (about a minute)
#   ci/instructions.sh --long     inputs of up to 4 MiB in one chunk
#   ci/instructions.sh --only=X   only floods whose names contain X
#   ci/instructions.sh floods     this part alone; parts are text, sets, bodies, arguments, floods, markers, and growth for the last three
#   ci/instructions.sh --record   rewrite ci/instructions.budget
#   ci/instructions.sh --all      print every growth, not only the largest
#
# Counts repeat exactly for one binary on one processor family, whatever else the machine does. Status 1: a bound is exceeded.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh

need_valgrind || exit 77

# The program that cargo has just built, whatever the target folder is. Without debug information the release build's artifacts
# are reused; names of functions are all that is needed here.
export CARGO_PROFILE_BENCH_DEBUG=false
bench=$(cargo bench -q -p toolglot --bench instructions --no-run --locked --message-format=json \
  | python3 -c 'import json, sys
found = [m for m in map(json.loads, sys.stdin) if m.get("executable") and m["target"]["name"] == "instructions"]
print(found[-1]["executable"])')

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
work=()
for arg in "$@"; do
  case $arg in
    --short | --long | --only=* | [a-z]*) work+=("$arg") ;;
  esac
done

# One profile for each call of `counted`, and none of what happens between the calls.
name='instructions::counted'
if ! valgrind --tool=callgrind --callgrind-out-file="$folder/profile" \
  --zero-before="$name" --dump-after="$name" --toggle-collect="$name" \
  "$bench" "${work[@]}" > "$folder/lines" 2> "$folder/log"; then
  cat "$folder/log"
  exit 1
fi
# What remains at the end of the program does not belong to a call.
rm -f "$folder/profile"
python3 ci/instructions.py "$folder" "$@"
