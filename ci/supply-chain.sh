#!/usr/bin/env bash
# Bills of materials that a validator accepts, and archives that two builds in two folders make with the same bytes.
#
#   ci/supply-chain.sh             both
#   ci/supply-chain.sh bills       only the bills
#   ci/supply-chain.sh archives    only the archives: the C library and the command, each built twice
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

bills() {
  python3 ci/sbom.py "$folder/one"
  python3 ci/sbom.py "$folder/two" > /dev/null
  diff -r "$folder/one" "$folder/two"
  local tools=$CARGO_TARGET_DIR/sbom-tools
  printf 'cyclonedx-python-lib[json-validation]==11.*\n' > "$folder/wanted.txt"
  if ! install_packages "$tools" "$folder/wanted.txt"; then
    echo "SKIPPED: the validator of bills of materials cannot be installed"
    return 77
  fi
  "$tools/bin/python" - "$folder"/one/*.json << 'END'
import pathlib
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

validator = JsonStrictValidator(SchemaVersion.V1_5)
faults = {path: validator.validate_str(pathlib.Path(path).read_text()) for path in sys.argv[1:]}
for path, fault in faults.items():
    if fault:
        print(f"{path}: {fault}")
sys.exit(any(faults.values()))
END
  echo "bills of materials: valid, and the same twice"
}

archives() {
  local commit
  commit=$(git rev-parse HEAD)
  local n source
  for n in 1 2; do
    # The second folder's name is longer: a path that is left in an archive changes its length.
    source=$folder/source$([[ $n == 1 ]] || echo -of-the-second-build)
    mkdir -p "$source"
    git archive "$commit" | tar -x -C "$source"
    RUSTFLAGS="--remap-path-prefix=$source=. --remap-path-prefix=$folder/target-$n=target --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo" \
      CARGO_INCREMENTAL=0 \
      cargo build -q --release --locked --manifest-path "$source/Cargo.toml" --target-dir "$folder/target-$n" -p toolglot-c -p toolglot-cli
    (cd "$folder/target-$n/release" && sha256sum libtoolglot.a libtoolglot.so toolglot) > "$folder/sums-$n"
    rm -rf "$source"
  done
  cat "$folder/sums-1"
  if ! diff "$folder/sums-1" "$folder/sums-2"; then
    # Where they differ: the paths that each has and the other lacks.
    for n in 1 2; do strings "$folder/target-$n/release/toolglot" | grep / | LC_ALL=C sort -u > "$folder/paths-$n"; done
    diff "$folder/paths-1" "$folder/paths-2" | head -n 20
    return 1
  fi
  echo "archives: two builds have the same bytes"
}

case ${1:-all} in
  bills) bills ;;
  archives) archives ;;
  all)
    bills
    archives
    ;;
  *)
    echo "no part $1; there are bills and archives" >&2
    exit 2
    ;;
esac
