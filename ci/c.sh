#!/usr/bin/env bash
# The C interface: the header against the sources, exported symbols against the list, C tests under gcc and clang, under
# sanitizers and valgrind, and every conformance vector through it.
#
#   ci/c.sh            all of it
#   ci/c.sh --quick    without packages, sanitizers and valgrind; vectors under some chunkings
#
# Not run: a thread sanitizer, which would not see the atomics in the Rust part. tests/threads.c checks the visible behaviour
# instead: every call on a shared stream either does its work or returns that the stream is busy.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

if ! command -v cc > /dev/null; then
  echo "SKIPPED: no C compiler"
  exit 77
fi
out=$CARGO_TARGET_DIR/c
mkdir -p "$out/panic"
tests=bindings/c/tests
warn=(-Wall -Wextra -Wpedantic -Werror -Iinclude)
strict=("${warn[@]}" -Wstrict-prototypes -Wmissing-prototypes -Wshadow -Wconversion -Wno-sign-conversion)
libs=(-lpthread -ldl -lm)

say "libraries"
c_library "$out/panic" toolglot-c/test-panic
c_library "$out"
ln -sf libtoolglot.so "$out/libtoolglot.so.0"

say "header, sources, vectors"
CARGO_TARGET_DIR=$CARGO_TARGET_DIR/header cargo run -q --manifest-path bindings/c/header/Cargo.toml --locked
ci/c-docs.py
flat_vectors "$out"

say "exported symbols"
nm -D --defined-only "$out/libtoolglot.so" | awk '{print $3}' | LC_ALL=C sort > "$out/symbols.txt"
diff bindings/c/symbols.txt "$out/symbols.txt"

say "the header under every standard"
compilers=0
for pair in gcc:g++ clang:clang++ clang-22:clang++-22; do
  cc=${pair%:*} cxx=${pair#*:}
  command -v "$cc" > /dev/null || continue
  compilers=$((compilers + 1))
  for std in c99 c11 c17; do
    printf '#include "toolglot.h"\n#include "toolglot.h"\nint main(void) { return 0; }\n' |
      "$cc" -std=$std "${strict[@]}" -x c - -c -o /dev/null
  done
  command -v "$cxx" > /dev/null || continue
  for std in c++11 c++17 c++20 c++2b; do
    printf '#include "toolglot.h"\n#include "toolglot.h"\nint main() { return 0; }\n' |
      "$cxx" -std=$std "${warn[@]}" -x c++ - -c -o /dev/null
  done
  # Compiling this asserts the layouts.
  "$cc" -std=c11 "${strict[@]}" $tests/layout.c -c -o /dev/null
done
echo "$compilers compilers"

# build NAME LIBRARY FLAGS...: compiles one test against one library.
build() {
  local name=$1 library=$2
  shift 2
  cc -std=c11 -g -O1 "${strict[@]}" "$@" "$tests/${name%%-*}.c" "$library" "${libs[@]}" -o "$out/$name"
}

say "tests, static and shared"
for name in layout threads vectors agent; do build $name "$(usual_library "$out" "${1:-}")" -Wl,-rpath,"$out"; done
build minimal "$out/libtoolglot.a"
build alloc "$out/libtoolglot.a" -Wno-missing-prototypes -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
build nomem "$out/libtoolglot.a" -Wno-missing-prototypes \
  -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=posix_memalign,--wrap=aligned_alloc,--wrap=free
build api "$out/panic/libtoolglot.a" -DTEST_PANIC
build api-shared "$out/libtoolglot.so" -Wl,-rpath,"$out"
"$out/layout"
"$out/minimal" > /dev/null
"$out/api" 2> "$out/api.log" || { cat "$out/api.log"; exit 1; }
"$out/api-shared"
"$out/threads"
"$out/alloc"
"$out/agent" "$out/agents.flat"
# Fails one of every so many allocations; `nomem` without an argument takes minutes.
if [[ ${1:-} == --quick ]]; then
  "$out/nomem" 997 &
  say "every vector, some 2-way splits"
  "$out/vectors" "$out/vectors.flat" 64 8
  wait $!
  left_out "packages, sanitizers, valgrind, most vectors"
  exit
fi
"$out/nomem" 97

say "packages"
# Installed, then moved: nothing in the packages may depend on their place.
rm -rf "$out/prefix" "$out/moved"
bindings/c/install.sh "$out/prefix" "$out"
mv "$out/prefix" "$out/moved"
# The same files, where the builder of a package stages them.
rm -rf "$out/stage"
DESTDIR=$out/stage bindings/c/install.sh /usr "$out"
diff <(cd "$out/moved" && find . | LC_ALL=C sort) <(cd "$out/stage/usr" && find . | LC_ALL=C sort)
lib=$out/moved/lib
for text in LICENSE-APACHE LICENSE-MIT; do cmp "$text" "$out/moved/share/licenses/toolglot/$text"; done
readelf -d "$lib/libtoolglot.so" | grep -q 'SONAME.*\[libtoolglot.so.0\]'
if command -v pkg-config > /dev/null; then
  export PKG_CONFIG_PATH=$lib/pkgconfig
  [[ $(pkg-config --modversion toolglot) == "$(own_version)" ]]
  read -ra flags <<< "$(pkg-config --cflags --libs toolglot)"
  cc $tests/minimal.c "${flags[@]}" -Wl,-rpath,"$lib" -o "$out/by-pkg" && "$out/by-pkg" > /dev/null
  read -ra flags <<< "$(pkg-config --cflags --libs --static toolglot)"
  cc $tests/minimal.c "${flags[@]/-ltoolglot/-l:libtoolglot.a}" -o "$out/by-pkg-static"
  "$out/by-pkg-static" > /dev/null
  # A program that loads no library at run time.
  cc -static $tests/minimal.c "${flags[@]}" -o "$out/by-pkg-whole" && "$out/by-pkg-whole" > /dev/null
  unset PKG_CONFIG_PATH
else
  lacking "packages by pkg-config, which is missing"
fi
if command -v cmake > /dev/null; then
  rm -rf "$out/cmake"
  cmake -S $tests/cmake -B "$out/cmake" -DCMAKE_PREFIX_PATH="$out/moved" > "$out/cmake.log"
  cmake --build "$out/cmake" > "$out/cmake.log"
  "$out/cmake/host_shared" > /dev/null
  "$out/cmake/host_static" > /dev/null
  # The versions that a project may ask for.
  own=$(own_version)
  for wanted in "$own yes" "${own%%.*} yes" "${own%.*} yes" "${own%%.*}.99 no" "99 no"; do
    printf 'cmake_minimum_required(VERSION 3.13)\nproject(v C)\nfind_package(toolglot %s REQUIRED)\n' "${wanted% *}" > "$out/CMakeLists.txt"
    rm -rf "$out/cmake-version"
    found=no
    if cmake -S "$out" -B "$out/cmake-version" -DCMAKE_PREFIX_PATH="$out/moved" > "$out/cmake.log" 2>&1; then found=yes; fi
    [[ $found == "${wanted#* }" ]] || { echo "CMake finds version ${wanted% *}: $found"; exit 1; }
  done
else
  lacking "packages by CMake, which is missing"
fi
if [[ -f $lib/libtoolglot_isolated.a ]]; then
  rustc --edition 2024 --crate-type staticlib -O -o "$out/libother.a" $tests/two/other.rs
  cc "${warn[@]}" $tests/two/main.c "$lib/libtoolglot_isolated.a" "$out/libother.a" "${libs[@]}" -o "$out/two"
  "$out/two" 2> /dev/null
fi

say "every vector, every 2-way split"
"$out/vectors" "$out/vectors.flat"
# Also checks that no call takes more memory than is reserved for it.
build vectors-bounds "$out/panic/libtoolglot.a"
"$out/vectors-bounds" "$out/vectors.flat" 16 4

# must_fail CHECK FAULT...: a checker that lets one of these faults of control.c pass would find nothing in the tests either.
must_fail() {
  local fault
  for fault in "${@:2}"; do
    if $1 "$fault" > "$out/control.log" 2>&1; then
      echo "$1 let this fault pass: $fault"
      return 1
    fi
  done
}

say "guard pages"
build control "$out/libtoolglot.a"
"$out/control"
must_fail "$out/control" guard

say "address and undefined-behaviour sanitizers"
sanitize=(-fsanitize=address,undefined -fno-sanitize-recover=all)
if printf 'int main(void) { return 0; }\n' | cc "${sanitize[@]}" -x c - -o "$out/trial" 2> /dev/null && "$out/trial"; then
  build control-san "$out/libtoolglot.a" "${sanitize[@]}"
  must_fail "$out/control-san" heap freed leak overflow
  build api-san "$out/panic/libtoolglot.a" -DTEST_PANIC "${sanitize[@]}"
  build threads-san "$out/libtoolglot.a" "${sanitize[@]}"
  build agent-san "$out/libtoolglot.a" "${sanitize[@]}"
  build vectors-san "$out/libtoolglot.a" "${sanitize[@]}"
  "$out/api-san" 2> "$out/api.log" || { cat "$out/api.log"; exit 1; }
  "$out/threads-san"
  "$out/agent-san" "$out/agents.flat"
  "$out/vectors-san" "$out/vectors.flat" 64 8
else
  lacking "sanitizers, which the compiler lacks"
fi

say "valgrind"
if need_valgrind > /dev/null; then
  must_fail "valgrind -q --error-exitcode=9 --leak-check=full $out/control" heap freed leak
  check=(valgrind -q --error-exitcode=9 --leak-check=full "--suppressions=$tests/valgrind.supp")
  "${check[@]}" "$out/api-shared"
  "${check[@]}" "$out/vectors" "$out/vectors.flat" 1 100
else
  lacking "valgrind, which is missing"
fi
