#!/usr/bin/env bash
# What linking the library changes for its host: nothing. A crate outside the workspace reads types of its own with it, and no
# published crate turns on a feature of a dependency that changes what others read.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

cargo test -q --manifest-path tests/host/Cargo.toml --locked

# With all features, those of tests left out.
bad='(serde_json|minijinja|jsonschema|toml|serde) feature "(arbitrary_precision|arbitrary-precision|preserve_order|unbounded_depth|unstable)"'
for package in toolglot-scan toolglot toolglot-tools toolglot-agent toolglot-testkit toolglot-cli; do
  if cargo tree -q --locked -p "$package" --all-features -e no-dev,features | grep -E "$bad"; then
    echo "$package turns on a feature that changes what its host reads"
    exit 1
  fi
done
# `jsonschema` reads fractions to the last bit, and with it whoever is linked with `toolglot-tools`; nobody else does.
if cargo tree -q --locked -p toolglot -e no-dev,features | grep float_roundtrip; then
  echo "toolglot turns float_roundtrip on"
  exit 1
fi
echo "floats, keys and numbers of the host are its own; no published crate turns such a feature on"
