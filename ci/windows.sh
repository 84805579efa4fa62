#!/usr/bin/env bash
# The C library and the command for Windows, built with MinGW and run under Wine: what is exported and installed, the examples by each
# way to link them, the tests of C and C++ with every vector, the command, and the archives of a release.
#
#   ci/windows.sh            with a release build
#   ci/windows.sh FOLDER     with the libraries and programs of FOLDER, which are for x86_64-pc-windows-gnu
#
# Not run: bindings/c/tests/threads.c, which forks, and alloc.c and nomem.c, which take the place of malloc: for Windows the library
# gets its memory from the system, not from malloc. What Microsoft's compiler makes is not built here.
#
# Shares the vectors with ci/c.sh, and makes them if they are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
target=x86_64-pc-windows-gnu
out=$CARGO_TARGET_DIR/windows
mkdir -p "$out"

cc=x86_64-w64-mingw32-gcc
# Debian has two compilers for C++; one of them has std::thread.
find_cxx() { command -v x86_64-w64-mingw32-g++-posix || command -v x86_64-w64-mingw32-g++; }
# Debian's program for 64 bits is not in the path.
find_wine() { command -v /usr/lib/wine/wine64 || command -v wine64 || command -v wine; }

if (($# == 0)) && [[ ! -d $(rustc --print target-libdir --target $target) ]] && ! rustup target add $target; then
  echo "SKIPPED: no standard library for $target"
  exit 77
fi
if ! { command -v $cc && find_cxx; } > /dev/null && ! install_debian gcc-mingw-w64-x86-64 g++-mingw-w64-x86-64; then
  echo "SKIPPED: no MinGW, so nothing was built for Windows"
  exit 77
fi
if ! find_wine > /dev/null && ! install_debian wine64; then
  echo "SKIPPED: no Wine, so nothing was run as on Windows"
  exit 77
fi
cxx=$(find_cxx)
wine=$(find_wine)

say "a Windows of its own"
# Without a menu in the user's home, and without the parts that Wine would download.
export WINEPREFIX=$out/wine WINEDEBUG=-all WINEDLLOVERRIDES="winemenubuilder.exe,mscoree,mshtml="
rm -rf "$out/wine" "$out/user"
mkdir -p "$out/user"
HOME=$out/user "$wine" wineboot --init > "$out/wine.log" 2>&1 || { cat "$out/wine.log"; exit 1; }
"$wine" --version
# Rust takes its random numbers from a library that older versions of Wine lack.
random=$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll
if [[ ! -f $random ]]; then
  "$cc" -x c - -shared -o "$random" -ladvapi32 <<'C'
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID bytes, ULONG len);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T len) { return SystemFunction036(bytes, (ULONG)len); }
C
fi

say "libraries and programs"
from=${1:-$CARGO_TARGET_DIR/$target/release}
if (($# == 0)); then cargo build -q --release --locked -p toolglot-c -p toolglot-cli -p toolglot-gateway --target $target; fi
vectors=$CARGO_TARGET_DIR/c
flat_vectors "$vectors" > /dev/null

say "exported symbols, imported libraries"
x86_64-w64-mingw32-objdump -p "$from/toolglot.dll" > "$out/dll.txt"
sed -n '/^\[Ordinal\/Name Pointer\] Table/,/^$/s/^.*\] //p' "$out/dll.txt" | grep -v Table | LC_ALL=C sort | diff bindings/c/symbols.txt -
# Nothing that a Windows without a compiler lacks.
for file in toolglot.dll toolglot.exe toolglot-gateway.exe; do
  x86_64-w64-mingw32-objdump -p "$from/$file" | sed -n 's/^.*DLL Name: //p' > "$out/imports.txt"
  if grep -iE '^(lib.*|.*winpthread.*)\.dll$' "$out/imports.txt"; then echo "$file needs a library of MinGW"; exit 1; fi
done

say "install"
# Installed, then moved: nothing in the packages may depend on their place.
rm -rf "$out/installed" "$out/prefix"
bindings/c/install.sh "$out/installed" "$from"
mv "$out/installed" "$out/prefix"
prefix=$out/prefix
(cd "$prefix" && find bin lib -type f | LC_ALL=C sort) | diff - <(printf '%s\n' bin/toolglot.dll lib/cmake/toolglot/toolglot-config{-version,}.cmake \
  lib/libtoolglot.a lib/libtoolglot.dll.a lib/pkgconfig/toolglot.pc)

system=(-lntdll -luserenv -lws2_32 -ldbghelp)
warn=(-O1 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror)

# compile SOURCE PROGRAM FLAGS...: a program beside the DLL, where Windows looks for that. What C++ needs of the compiler's own libraries
# becomes a part of the program.
compile() {
  local compiler=("$cc" -std=c11)
  if [[ $1 == *.cc ]]; then compiler=("$cxx" -std=c++17 -static); fi
  "${compiler[@]}" "${warn[@]}" "$1" "${@:3}" -o "$prefix/bin/$2.exe"
}
run() { "$wine" "$prefix/bin/$1.exe" "${@:2}"; }

# try EXAMPLE PROGRAM: compares what an example says. Its lines end as usual on Windows.
try() {
  "$wine" "$2" < examples/transcript.txt 2>&1 | tr -d '\r' > "$out/said"
  diff "examples/expected/$1.txt" "$out/said"
}

say "examples"
# The DLL by its import library, with the header's declarations for it and without; the archive; what pkg-config says.
ways=("-DTOOLGLOT_SHARED $prefix/lib/libtoolglot.dll.a" "-L$prefix/lib -ltoolglot" "$prefix/lib/libtoolglot.a ${system[*]}")
if command -v pkg-config > /dev/null || install_debian pkg-config; then
  export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
  ways+=("$(pkg-config --libs toolglot)" "-static $(pkg-config --libs --static toolglot)")
else
  lacking "pkg-config, which is missing"
fi
ran=()
for file in examples/c/*.c examples/cpp/server_loop.cc bindings/c/tests/minimal.c; do
  name=$(basename "${file%.*}")
  for way in "${ways[@]}"; do
    # A static program of C++ would take the archive.
    if [[ $file == *.cc && $way == *" -ltoolglot"* ]]; then continue; fi
    read -ra flags <<< "$way"
    compile "$file" "$name" "-I$prefix/include" "${flags[@]}"
    if [[ $file == examples/* ]]; then try "$name" "$prefix/bin/$name.exe"; else run "$name" > /dev/null; fi
    ran+=("$name")
  done
done
echo "${#ran[@]} programs"

# configure SOURCES FLAGS...: builds a project for Windows in $out/cmake.
configure() {
  rm -rf "$out/cmake"
  cmake -S "$1" -B "$out/cmake" -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix" "${@:2}" > "$out/cmake.log"
  cmake --build "$out/cmake" > "$out/cmake.log"
  cp "$prefix/bin/toolglot.dll" "$out/cmake/"
}

say "examples, by CMake"
if command -v cmake > /dev/null || install_debian cmake; then
  for link in shared static; do
    configure examples -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_EXE_LINKER_FLAGS=-static -DTOOLGLOT_LINK=$link
    for name in minimal callback server_loop; do try $name "$out/cmake/$name.exe"; done
  done
  configure bindings/c/tests/cmake
  for link in shared static; do "$wine" "$out/cmake/host_$link.exe" > /dev/null; done
else
  lacking "examples by CMake, which is missing"
fi

say "tests"
for name in layout api agent calls vectors; do
  compile "bindings/c/tests/$name.c" $name -Iinclude -Wstrict-prototypes -Wmissing-prototypes "$prefix/lib/libtoolglot.a" "${system[@]}"
done
for name in api vectors; do compile "bindings/c/tests/cpp/$name.cc" "cpp-$name" -Iinclude "$prefix/lib/libtoolglot.a" "${system[@]}"; done
compile bindings/c/tests/api.c api-shared -Iinclude -DTOOLGLOT_SHARED "$prefix/lib/libtoolglot.dll.a"
run layout
run api
run api-shared
run agent "$vectors/agents.flat"
run calls 2000
run cpp-api

say "every vector, every 2-way split"
run vectors "$vectors/vectors.flat"
run cpp-vectors "$vectors/vectors.flat"

say "the command"
printf 'Looking. <tool_call>{"name": "f", "arguments": {}}</tool_call>' > "$out/reply.txt"
"$wine" "$from/toolglot.exe" parse --output turn - < "$out/reply.txt" | grep -q '"name":"f"'
"$wine" "$from/toolglot.exe" parse --output turn "$out/reply.txt" | grep -q '"name":"f"'
# Bytes go through it unchanged: ends of lines, the sign that ends a text file, what is no UTF-8.
printf 'a\r\nb\n\032<tool_call>\377\r' > "$out/bytes.txt"
"$wine" "$from/toolglot.exe" escape < "$out/bytes.txt" > "$out/escaped.txt"
if cmp -s "$out/bytes.txt" "$out/escaped.txt"; then echo "nothing was escaped"; exit 1; fi
"$wine" "$from/toolglot.exe" unescape "$out/escaped.txt" | cmp "$out/bytes.txt" -
# A tool that is a process, which has the few variables that a program for Windows needs.
cat > "$out/tools.toml" <<'TOML'
[[tools]]
name = "say"
description = "Says a word"
parameters = { type = "object", properties = { word = { type = "string" } }, required = ["word"] }
execute.process = { argv = ["cmd", "/C", "echo", "{word}", "%SystemRoot%"], stdin = "none" }
TOML
"$wine" "$from/toolglot.exe" call --tools "$out/tools.toml" say '{"word": "hello"}' | tr -d '\r' | grep -xi 'hello "\?c:\\windows"\?'
"$wine" "$from/toolglot.exe" check tests/vectors/*.jsonl

say "the archives of a release"
CARGO_TARGET_DIR=$out CC=$cc ci/archive.sh "$from" $target "$wine"
