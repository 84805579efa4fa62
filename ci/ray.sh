#!/usr/bin/env bash
# Real local jobs of Ray Data and Daft over a file of transcripts, and of Spark if requested and Java is installed. Their turns
# must be those of the parser alone. Not part of ci/all.sh: it downloads some 600 MB (Spark: 500 MB more).
#
#   ci/ray.sh [--spark]
#   ci/ray.sh --scale [ROWS]    a job of Ray Data in a cluster of one node and of two: rows a second, and memory
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

here=bindings/python/tests/jobs
work=$CARGO_TARGET_DIR/jobs
tools=$CARGO_TARGET_DIR/python-tools
engines=(ray daft)
if [[ ${1:-} == --scale ]]; then engines=(ray); fi
if [[ ${1:-} == --spark ]]; then
  if ! command -v java > /dev/null; then
    echo "SKIPPED: Spark needs Java"
    exit 77
  fi
  engines+=(spark)
fi
if [[ ! -x $tools/bin/maturin ]]; then
  echo "run ci/python.sh first: its tools build the wheel"
  exit 1
fi
mkdir -p "$work/data"
rm -rf "$work/own"
# The profile of releases; the other one would say less about speed.
"$tools/bin/maturin" build --release --locked --manifest-path bindings/python/Cargo.toml -i "$tools/bin/python" \
  --out "$work/own" > "$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }

export PYTHONDONTWRITEBYTECODE=1
for engine in "${engines[@]}"; do
  venv=$work/$engine
  if ! install_packages "$venv" "$here/$engine.txt"; then
    echo "SKIPPED: $engine cannot be installed (no venv, or no registry)"
    exit 77
  fi
  "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-index --no-deps --force-reinstall "$work"/own/*.whl
  if [[ ${1:-} == --scale ]]; then
    "$venv/bin/python" $here/scale.py "$work/data" "${@:2}" 2> "$work/scale.log" || { tail -n 40 "$work/scale.log"; exit 1; }
    exit
  fi
  "$venv/bin/python" $here/run.py "$work/data" "$engine" 2> "$work/$engine.log" || { tail -n 40 "$work/$engine.log"; exit 1; }
done
