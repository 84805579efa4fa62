#!/usr/bin/env bash
# The package for Go: its form, and its tests, which run every vector under several cuts, linked dynamically with the race detector
# and statically.
#
#   ci/go.sh           with a C library for tests
#   ci/go.sh PREFIX    with the one that bindings/c/install.sh has installed there
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
if ! command -v go > /dev/null && ! install_debian golang-go; then
  echo "SKIPPED: no Go, so its package was not tested"
  exit 77
fi
if ! command -v cc > /dev/null || ! { command -v pkg-config > /dev/null || install_debian pkg-config; }; then
  echo "SKIPPED: no C compiler or no pkg-config, so the package for Go was not tested"
  exit 77
fi
out=$CARGO_TARGET_DIR/go
prefix=${1:-$out/prefix}
mkdir -p "$out"
if (($# == 0)); then
  c_library "$out"
  bindings/c/install.sh "$prefix" "$out"
fi
prefix=$(cd "$prefix" && pwd)
export GOCACHE=$out/cache GOFLAGS=-count=1 PKG_CONFIG_PATH=$prefix/lib/pkgconfig
cd bindings/go

say "$(go version | cut -d ' ' -f 3,4)"
unformatted=$(gofmt -l .)
[[ -z $unformatted ]] || { echo "gofmt would change $unformatted"; exit 1; }
LD_LIBRARY_PATH=$prefix/lib go vet ./...

say "shared library, race detector, checks of pointers"
LD_LIBRARY_PATH=$prefix/lib GODEBUG=cgocheck=2 GOEXPERIMENT=$(go version | grep -q 'go1\.\(1[0-9]\|20\)' || echo cgocheck2) go test -race ./...

say "static library"
CGO_CFLAGS=-I$prefix/include CGO_LDFLAGS="$prefix/lib/libtoolglot.a -lpthread -ldl -lm" go test -tags toolglot_flags -bench . -benchtime 100ms ./...
