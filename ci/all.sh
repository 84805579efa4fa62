#!/usr/bin/env bash
# Every law, vector and lint, and the main tests of each host: what a change must pass. On two cores it should take less than
# 15 minutes; a slow machine has taken 23.
# ci/full.sh runs the rest.
#
#   ci/all.sh                 the stages below
#   ci/all.sh lint test       these stages
#
# All stages run, even after a failure; the last lines name what was left out, and the stages that failed. With CI_STRICT=1, a
# stage or a check that was skipped because a tool is missing is a failure too.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
# Build every crate once.
export CARGO_INCREMENTAL=0

stages=(format licences msrv lint test c cpp python wasm docs)
if (($# > 0)); then stages=("$@"); fi

command_of() {
  case $1 in
    msrv | lint | test | c | cpp | python | wasm) echo "ci/$1.sh --quick" ;;
    *) echo "ci/$1.sh" ;;
  esac
}

run_stages "${stages[@]}"
