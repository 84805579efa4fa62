#!/usr/bin/env bash
# Agent frameworks use a model that writes its calls into its text, through the gateway in examples/python; LiteLLM's proxy through the hook
# there. They are installed only below the target folder, with the wheel that ci/python.sh has built.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

venv=$CARGO_TARGET_DIR/frameworks-venv
shopt -s nullglob
wheels=("$CARGO_TARGET_DIR"/python-wheels/*.whl)
if ((${#wheels[@]} != 1)); then
  echo "SKIPPED: no wheel; ci/python.sh builds it"
  exit 77
fi
if ! install_packages "$venv" examples/python/requirements.txt; then
  echo "SKIPPED: the frameworks cannot be installed (no venv, or no registry), so nothing was tested with them"
  exit 77
fi
"$venv/bin/python" -m pip install -q --disable-pip-version-check --no-index --no-deps --force-reinstall "${wheels[@]}"
for example in examples/python/with_*.py; do
  echo "$example"
  PYTHONDONTWRITEBYTECODE=1 timeout 300 "$venv/bin/python" "$example"
done
