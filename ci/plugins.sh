#!/usr/bin/env bash
# The plug-ins for vLLM and SGLang in the servers' own code: their wheels are downloaded without dependencies and unpacked, and
# their registries and streaming drivers run every vector through our parsers. Torch and the like are stand-ins. Not part of
# ci/all.sh: it downloads some 400 MB.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

here=bindings/python/tests/plugins
work=$CARGO_TARGET_DIR/plugins
tools=$CARGO_TARGET_DIR/python-tools
venv=$work/venv
mkdir -p "$work"
# The tools of ci/python.sh build the wheel.
if [[ ! -x $tools/bin/maturin ]] && ! install_packages "$tools" bindings/python/requirements.txt; then
  echo "SKIPPED: maturin cannot be installed (no venv, or no registry), so no wheel was built"
  exit 77
fi
if ! install_packages "$venv" "$here/requirements.txt"; then
  echo "SKIPPED: the imports of the servers' parsers cannot be installed (no venv, or no registry)"
  exit 77
fi

# name version
unpack() {
  local folder=$work/$1-$2
  if [[ -f $folder/done ]]; then return; fi
  rm -rf "$folder" "$work/wheel"
  if ! "$venv/bin/python" -m pip download -q --disable-pip-version-check --no-deps "$1==$2" -d "$work/wheel"; then
    echo "SKIPPED: $1 $2 cannot be downloaded"
    exit 77
  fi
  # Only the Python files; the rest needs a GPU.
  "$venv/bin/python" - "$work"/wheel/*.whl "$folder" << 'PY'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    wheel.extractall(sys.argv[2], [name for name in wheel.namelist() if name.endswith(".py") or ".dist-info/" in name])
PY
  rm -rf "$work/wheel"
  touch "$folder/done"
}
vllm=0.33.0 sglang=0.5.23
unpack vllm $vllm
unpack sglang $sglang

rm -rf "$work/own"
"$tools/bin/maturin" build -q --profile quick --locked --manifest-path bindings/python/Cargo.toml -i "$tools/bin/python" --out "$work/own" > "$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
"$venv/bin/python" -m pip install -q --disable-pip-version-check --no-index --no-deps --force-reinstall "$work"/own/*.whl

# `cutting.py` there splits outputs into chunks.
export PYTHONPATH=$PWD/tests/clients PYTHONDONTWRITEBYTECODE=1
"$venv/bin/python" $here/signatures.py --check "$work/vllm-$vllm" "$work/sglang-$sglang"
echo "the stored signatures are those of vllm $vllm and sglang $sglang"
"$venv/bin/python" -W ignore $here/drive_vllm.py "$work/vllm-$vllm"
"$venv/bin/python" -W ignore $here/drive_sglang.py "$work/sglang-$sglang"
