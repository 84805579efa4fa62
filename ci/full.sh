#!/usr/bin/env bash
# Every script that ci/all.sh leaves out or shortens: hours, and downloads of some gigabytes. docs/CHECKS.md gets the result and
# the date of each.
#
#   ci/full.sh                continue: the stages that have not passed at this commit
#   ci/full.sh wasm grammar   these stages, even if they have passed
#
# The list below has all stages; each script describes itself.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

stages=(msrv lint supply-chain public-api semver packages workflows test host c cpp python clients gateway image go ports windows instructions memory fuzz mutants sanitizers check-vectors bindings grammar json-schema tokens plugin-versions plugins compare templates derive
  wasm page frameworks prose generators parquet ray floods)

command_of() {
  case $1 in
    bindings) echo "ci/bindings.sh --python" ;;
    fuzz) echo "ci/campaign/fuzz.py --seconds 60 --no-ledger" ;;
    mutants) echo "ci/campaign/mutants.py --count 10" ;;
    sanitizers) echo "ci/campaign/sanitizers.sh" ;;
    instructions) echo "ci/instructions.sh --short" ;;
    floods) echo "ci/instructions.sh" ;;
    *) echo "ci/$1.sh" ;;
  esac
}

# One line per stage: its name, its result, seconds, the commit, the day.
results=$CARGO_TARGET_DIR/full.txt
mkdir -p "$CARGO_TARGET_DIR"
touch "$results"
commit=$(git rev-parse --short HEAD)
[[ -z $(git status --porcelain --untracked-files=no -- ':!docs/CHECKS.md') ]] || commit+="+"

after_stage() {
  local others
  others=$(grep -v "^$1 " "$results" || true)
  printf '%s\n' "$others" "$1 $2 $3 $commit $(date -u +%F)" | sed '/^$/d' > "$results"
  python3 ci/checks.py "$results" "${stages[@]}"
}

if (($# > 0)); then
  todo=("$@")
else
  todo=()
  for stage in "${stages[@]}"; do
    grep -qE "^$stage passed [0-9]+ ${commit/+/[+]} " "$results" || todo+=("$stage")
  done
  if ((${#todo[@]} == 0)); then
    echo "every stage has passed at $commit"
    exit
  fi
fi

run_stages "${todo[@]}"
