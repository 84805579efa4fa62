#!/usr/bin/env bash
# The JSON Schema Test Suite through the validation of calls, for drafts 4 to 2020-12. The suite is part of the source archive
# of the Python package jsonschema; it is fetched only below target/.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

version=4.26.0
sum=0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326
folder=$CARGO_TARGET_DIR/json-schema-suite
archive=$folder/jsonschema-$version.tar.gz
if [[ ! -f $archive ]]; then
  if ! python3 -m pip download -q --disable-pip-version-check --no-deps --no-binary jsonschema -d "$folder" "jsonschema==$version"; then
    echo "SKIPPED: the suite cannot be fetched (no pip, or no registry)"
    exit 77
  fi
fi
echo "$sum  $archive" | sha256sum --check --quiet
tar -xzf "$archive" -C "$folder" "jsonschema-$version/json/tests"

TOOLGLOT_JSON_SCHEMA_TESTS=$folder/jsonschema-$version/json/tests \
  cargo test -q -p toolglot-tools --lib --locked -- --ignored --nocapture json_schema_test_suite
