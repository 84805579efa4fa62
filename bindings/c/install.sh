#!/usr/bin/env bash
# Builds the C library and installs it below a folder, which may be moved afterwards:
#
#   bindings/c/install.sh PREFIX           build, then install
#   bindings/c/install.sh PREFIX FOLDER    install libtoolglot.a and libtoolglot.so from FOLDER
#
#   include/toolglot.h [toolglot.hpp]   lib/libtoolglot.a   lib/libtoolglot.so -> .so.0 -> .so.VERSION
#   lib/libtoolglot_isolated.a          lib/pkgconfig/toolglot.pc   lib/cmake/toolglot/*.cmake
#   share/licenses/toolglot/LICENSE-*
#
# With DESTDIR in the environment the same files go below that folder, for the builder of a package.
#
# The isolated archive is the static one as a single object whose Rust symbols are hidden. Two static Rust libraries define
# the same names and cannot be linked into one program by GNU ld; with this one they can. It needs `ld` and LLVM's objcopy
# (rust-objcopy of a Rust toolchain, or llvm-objcopy) and is left out with a notice if they are missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
if (($# < 1)); then
  sed -n '2,7p' "$0" >&2
  exit 2
fi
mkdir -p "${DESTDIR:-}$1"
prefix=$(cd "${DESTDIR:-}$1" && pwd)

version=$(sed -n 's/^#define TOOLGLOT_VERSION "\(.*\)"/\1/p' "$root/include/toolglot.h")
if (($# > 1)); then
  from=$2
else
  (cd "$root" && cargo build -q -p toolglot-c --release --locked)
  from=${CARGO_TARGET_DIR:-$root/target}/release
fi

mkdir -p "$prefix/include" "$prefix/lib/pkgconfig" "$prefix/lib/cmake/toolglot" "$prefix/share/licenses/toolglot"
cp "$root"/LICENSE-* "$prefix/share/licenses/toolglot/"
cp "$root"/include/toolglot.h* "$prefix/include/"
cp "$from/libtoolglot.a" "$prefix/lib/"
cp "$from/libtoolglot.so" "$prefix/lib/libtoolglot.so.$version"
ln -sf "libtoolglot.so.$version" "$prefix/lib/libtoolglot.so.0"
ln -sf libtoolglot.so.0 "$prefix/lib/libtoolglot.so"

# The unwinder and the C library come from the compiler driver, which knows whether the program is static.
fill() {
  sed -e "s/@VERSION@/$version/" -e "s/@STATIC_LIBS@/-lutil -lrt -lpthread -lm -ldl/" "$here/package/$1.in" > "$2/$1"
}
fill toolglot.pc "$prefix/lib/pkgconfig"
fill toolglot-config-version.cmake "$prefix/lib/cmake/toolglot"
cp "$here/package/toolglot-config.cmake" "$prefix/lib/cmake/toolglot/"

objcopy() {
  local sysroot tool
  sysroot=$(rustc --print sysroot 2> /dev/null || true)
  for tool in "$sysroot"/lib/rustlib/*/bin/rust-objcopy; do
    if [[ -x $tool ]]; then LD_LIBRARY_PATH=$sysroot/lib "$tool" "$@"; return; fi
  done
  for tool in llvm-objcopy llvm-objcopy-{22,21,20,19,18,17,16,15,14}; do
    if command -v "$tool" > /dev/null; then "$tool" "$@"; return; fi
  done
  return 1
}

work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
# Bitcode for link-time optimization, concatenated by `ld -r`, would confuse tools that look for it.
if ld -r --whole-archive "$from/libtoolglot.a" -o "$work/all.o" &&
  objcopy -w --keep-global-symbol='toolglot_*' -R .llvmbc -R .llvmcmd "$work/all.o" "$work/toolglot.o"; then
  rm -f "$prefix/lib/libtoolglot_isolated.a"
  ar rcs "$prefix/lib/libtoolglot_isolated.a" "$work/toolglot.o"
else
  echo "libtoolglot_isolated.a was left out: it needs ld and LLVM's objcopy" >&2
fi
