#!/usr/bin/env bash
# ci/checksums.sh FOLDER: writes FOLDER/SHA256SUMS over its files, in order of their names. The release workflow signs that file.
set -euo pipefail
cd "$1"
rm -f SHA256SUMS
find . -maxdepth 1 -type f -printf '%f\n' | LC_ALL=C sort | tr '\n' '\0' | xargs -0 sha256sum > "${TMPDIR:-/tmp}/sums.$$"
mv "${TMPDIR:-/tmp}/sums.$$" SHA256SUMS
wc -l < SHA256SUMS
