#!/usr/bin/env bash
# Builds the C library and installs it below a folder, which may be moved afterwards:
#
#   bindings/c/install.sh PREFIX           build, then install
#   bindings/c/install.sh PREFIX FOLDER    install the libraries that FOLDER has
#
#   include/toolglot.h [toolglot.hpp]   lib/pkgconfig/toolglot.pc   lib/cmake/toolglot/*.cmake   share/licenses/toolglot/LICENSE-*
#   Linux, BSD:           lib/libtoolglot.a   lib/libtoolglot.so -> .so.0 -> .so.VERSION   lib/libtoolglot_isolated.a
#   macOS:                lib/libtoolglot.a   lib/libtoolglot.dylib -> .0.dylib -> .VERSION.dylib
#   Windows, MSVC:        lib/toolglot.lib    bin/toolglot.dll   lib/toolglot.dll.lib
#   Windows, MinGW:       lib/libtoolglot.a   bin/toolglot.dll   lib/libtoolglot.dll.a
#
# With DESTDIR in the environment the same files go below that folder, for the builder of a package. LIBDIR is the folder of
# libraries below PREFIX, `lib` by default (Debian: lib/x86_64-linux-gnu).
#
# The isolated archive is the static one as a single object whose Rust symbols are hidden. Two static Rust libraries define
# the same names and cannot be linked into one program by GNU ld; with this one they can. It needs `ld` and LLVM's objcopy
# (rust-objcopy of a Rust toolchain, or llvm-objcopy) and is left out with a notice if they are missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
if (($# < 1)); then
  sed -n '2,14p' "$0" >&2
  exit 2
fi
mkdir -p "${DESTDIR:-}$1"
prefix=$(cd "${DESTDIR:-}$1" && pwd)
libdir=${LIBDIR:-lib}
lib=$prefix/$libdir

version=$(sed -n 's/^#define TOOLGLOT_VERSION "\(.*\)"/\1/p' "$root/include/toolglot.h")
if (($# > 1)); then
  from=$2
else
  (cd "$root" && cargo build -q -p toolglot-c --release --locked)
  from=${CARGO_TARGET_DIR:-$root/target}/release
fi

mkdir -p "$prefix/include" "$lib/pkgconfig" "$lib/cmake/toolglot" "$prefix/share/licenses/toolglot"
cp "$root"/LICENSE-* "$prefix/share/licenses/toolglot/"
cp "$root"/include/toolglot.h* "$prefix/include/"

# The unwinder and the C library come from the compiler driver, which knows whether the program is static.
if [[ -f $from/libtoolglot.so ]]; then
  kind=elf static=libtoolglot.a system="-lutil -lrt -lpthread -lm -ldl"
  cp "$from/libtoolglot.so" "$lib/libtoolglot.so.$version"
  ln -sf "libtoolglot.so.$version" "$lib/libtoolglot.so.0"
  ln -sf libtoolglot.so.0 "$lib/libtoolglot.so"
  place=$libdir/libtoolglot.so import="" soname=libtoolglot.so.0
elif [[ -f $from/libtoolglot.dylib ]]; then
  kind=macho static=libtoolglot.a system="-lSystem -lc -lm"
  cp "$from/libtoolglot.dylib" "$lib/libtoolglot.$version.dylib"
  ln -sf "libtoolglot.$version.dylib" "$lib/libtoolglot.0.dylib"
  ln -sf libtoolglot.0.dylib "$lib/libtoolglot.dylib"
  place=$libdir/libtoolglot.dylib import="" soname=@rpath/libtoolglot.0.dylib
elif [[ -f $from/toolglot.dll ]]; then
  kind=pe soname=""
  if [[ -f $from/toolglot.lib ]]; then
    static=toolglot.lib import=toolglot.dll.lib system="kernel32.lib ntdll.lib userenv.lib ws2_32.lib dbghelp.lib"
  else
    static=libtoolglot.a import=libtoolglot.dll.a system="-lkernel32 -lntdll -luserenv -lws2_32 -ldbghelp"
  fi
  mkdir -p "$prefix/bin"
  cp "$from/toolglot.dll" "$prefix/bin/"
  cp "$from/$import" "$lib/"
  place=bin/toolglot.dll import=$libdir/$import
else
  echo "$from has no shared library" >&2
  exit 1
fi
cp "$from/$static" "$lib/"

# From a folder with files of a package to the prefix, so that it may be moved.
up() { sed 's|[^/][^/]*|..|g' <<< "$libdir/$1"; }
fill() {
  sed -e "s/@VERSION@/$version/" -e "s/@STATIC_LIBS@/$system/" -e "s|@UP@|$(up "$3")|" -e "s|@LIBDIR@|$libdir|" -e "s|@SHARED@|$place|" \
    -e "s|@IMPORT@|$import|" -e "s|@SONAME@|$soname|" -e "s|@STATIC@|$static|" "$here/package/$1.in" > "$2/$1"
}
fill toolglot.pc "$lib/pkgconfig" pkgconfig
fill toolglot-config-version.cmake "$lib/cmake/toolglot" cmake/toolglot
fill toolglot-config.cmake "$lib/cmake/toolglot" cmake/toolglot

# One object whose symbols are hidden is a matter of GNU ld.
[[ $kind == elf ]] || exit 0

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
  rm -f "$lib/libtoolglot_isolated.a"
  ar rcs "$lib/libtoolglot_isolated.a" "$work/toolglot.o"
else
  echo "libtoolglot_isolated.a was left out: it needs ld and LLVM's objcopy" >&2
fi
