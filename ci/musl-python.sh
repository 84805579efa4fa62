#!/usr/bin/env bash
# A Python that is linked against musl, for wheels of musl: built from the sources that Debian or Ubuntu has of its own Python, which apt
# checks, with the distribution's compiler wrapper for musl. Takes some three minutes once; prints the path of the interpreter. It runs where
# it was built, with the modules that need no other library.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
work=$CARGO_TARGET_DIR/musl-python
python=$work/build/python

if [[ ! -x $python || ! -f $work/done ]]; then
  command -v musl-gcc > /dev/null || install_debian musl-tools || true
  if ! command -v musl-gcc > /dev/null || ! command -v apt-get > /dev/null; then
    echo "SKIPPED: no compiler for musl, or no apt" >&2
    exit 77
  fi
  rm -rf "$work"
  mkdir -p "$work/lists/partial" "$work/build"
  # The sources of the packages that the machine knows.
  cat /etc/apt/sources.list.d/{debian,ubuntu}.sources 2> /dev/null | sed 's/^Types: .*/Types: deb-src/' > "$work/apt.sources" || true
  apt=(apt-get -q -o "Dir::Etc::sourcelist=$work/apt.sources" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$work/lists")
  minor=$(/usr/bin/python3 -c 'import sys; print(sys.version_info.minor)')
  # The distribution's patches may be missing on a mirror; they are not used.
  (cd "$work" && "${apt[@]}" update && "${apt[@]}" source --download-only --only-source "python3.$minor") > "$work/apt.log" 2>&1 || true
  archive=$(find "$work" -maxdepth 1 -name '*.orig.tar.*' ! -name '*.asc' | head -n 1)
  if [[ -z $archive ]]; then
    echo "SKIPPED: the sources of Python cannot be fetched" >&2
    exit 77
  fi
  tar xf "$archive" -C "$work/build" --strip-components 1
  # The wrapper passes this question on to the compiler for glibc.
  printf '#!/bin/sh\ncase $1 in -print-multiarch | --print-multiarch) echo %s-linux-musl; exit ;; esac\nexec musl-gcc "$@"\n' "$(uname -m)" > "$work/cc"
  chmod +x "$work/cc"
  # pkg-config would find the libraries of glibc. Optional modules fail for lack of a library, which does not fail the build.
  if ! (cd "$work/build" && ./configure -q CC="$work/cc" PKG_CONFIG=false --disable-test-modules --without-ensurepip && make -j "$(nproc)") > "$work/build.log" 2>&1; then
    tail -n 20 "$work/build.log" >&2
    exit 1
  fi
  touch "$work/done"
fi
echo "$python"
