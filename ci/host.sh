#!/usr/bin/env bash
# Linking the library changes nothing for its host. A crate outside the workspace reads types of its own with the library
# linked, and no published crate enables a feature of a dependency that changes what others read.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

cargo test -q --manifest-path tests/host/Cargo.toml --locked

# With all features, except those of tests.
bad='(serde_json|minijinja|jsonschema|toml|serde) feature "(arbitrary_precision|arbitrary-precision|preserve_order|unbounded_depth|unstable)"'
for package in toolglot-scan toolglot toolglot-tools toolglot-agent toolglot-testkit toolglot-cli; do
  if cargo tree -q --locked -p "$package" --all-features -e no-dev,features | grep -E "$bad"; then
    echo "$package enables a feature that changes what its host reads"
    exit 1
  fi
done
# `jsonschema` parses fractions exactly, and so does every program linked with `toolglot-tools`; no other crate does.
if cargo tree -q --locked -p toolglot -e no-dev,features | grep float_roundtrip; then
  echo "toolglot enables float_roundtrip"
  exit 1
fi
echo "floats, keys and numbers of the host are its own; no published crate enables such a feature"
