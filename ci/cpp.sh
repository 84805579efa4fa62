#!/usr/bin/env bash
# The C++ interface and what hosts build against: the header for C++ under every standard and compiler, its tests (also under
# sanitizers), every conformance vector through it, C calls in random order, the examples with each of their documented build
# lines, and the ABI against the stored one.
#
#   ci/cpp.sh            all of it
#   ci/cpp.sh --quick    one compiler, the interface's own tests, vectors under some chunkings, constants
#   ci/cpp.sh --abi      rewrite the stored ABI: bindings/c/abi/toolglot.abi
#
# Shares the library and the vectors with ci/c.sh, and makes whichever is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

if ! command -v c++ > /dev/null; then
  echo "SKIPPED: no C++ compiler"
  exit 77
fi
root=$PWD
out=$CARGO_TARGET_DIR/c
mkdir -p "$out/cpp"
tests=bindings/c/tests/cpp
warn=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -Iinclude)
libs=(-lpthread -ldl -lm)

abi=bindings/c/abi
abi_tools() { command -v abidw > /dev/null && command -v abidiff > /dev/null; }

# The ABI of the header: the compiler's view of every function type and of all types that these use. (ci/c.sh checks that the
# library matches the header: the header is generated from its sources, layouts are asserted, symbols compared.)
write_abi() {
  {
    echo '#include "toolglot.h"'
    sed 's/.*/__typeof__(&) *abi_&;/' bindings/c/symbols.txt
  } > "$out/cpp/abi.c"
  cc -g -gdwarf-4 -Iinclude -shared -fPIC "$out/cpp/abi.c" -o "$out/cpp/abi.so"
  abidw --no-corpus-path --no-show-locs --no-comp-dir-path --no-elf-needed --out-file "$1" "$out/cpp/abi.so"
  sed -i "s/ path='[^']*'/ path='toolglot.h'/" "$1"
}
write_constants() {
  grep -E '^#define TOOLGLOT_[A-Z0-9_]+ (\(-)?[0-9]+\)?$' include/toolglot.h | LC_ALL=C sort > "$1"
}
# Compares the numbers of the header with the stored ones. New numbers break nothing. `ci/cpp.sh --abi` stores them; store a
# breaking change together with a new TOOLGLOT_ABI_VERSION.
check_constants() {
  write_constants "$out/cpp/constants.txt"
  if LC_ALL=C comm -23 $abi/constants.txt "$out/cpp/constants.txt" | grep .; then
    echo "numbers of the header were changed or removed"
    exit 1
  fi
}
if [[ ${1:-} == --abi ]]; then
  write_constants $abi/constants.txt
  abi_tools || { echo "abidw (abigail-tools) is missing"; exit 1; }
  write_abi $abi/toolglot.abi
  exit
fi

say "library and vectors"
c_library "$out"
ln -sf libtoolglot.so "$out/libtoolglot.so.0"
flat_vectors "$out" > /dev/null

say "the header covers the C one"
# The C++ header must use every function and every kind of event.
missing=0
while read -r name; do
  grep -q "\b$name\b" include/toolglot.hpp || { echo "toolglot.hpp does not use $name"; missing=1; }
done < <(
  grep -v '^toolglot_abi_version$' bindings/c/symbols.txt
  sed -n 's/^#define \(TOOLGLOT_\(EVENT\|FINISH\)_[A-Z_]*\) [0-9]*$/\1/p' include/toolglot.h
)
((missing == 0))

say "the header under every standard"
compilers=()
for cxx in g++ clang++ clang++-22 clang++-14; do
  command -v "$cxx" > /dev/null || continue
  if [[ ${1:-} == --quick && ${#compilers[@]} -gt 0 ]]; then continue; fi
  compilers+=("$cxx")
  for std in c++17 c++20 c++2b; do
    printf '#include "toolglot.hpp"\n#include "toolglot.hpp"\nint main() { return 0; }\n' |
      "$cxx" -std=$std "${warn[@]}" -Wold-style-cast -x c++ - -c -o /dev/null
    "$cxx" -std=$std "${warn[@]}" $tests/api.cc -c -o /dev/null
  done
done
echo "${compilers[*]}"
if [[ ${1:-} != --quick && " ${compilers[*]} " != *clang* ]]; then lacking "clang++, which is missing"; fi

# build NAME FLAGS...: compiles one test.
usual=$(usual_library "$out" "${1:-}")
build() {
  local name=$1
  shift
  c++ -std=c++17 -g -O1 "${warn[@]}" "$@" "$tests/${name%%-*}.cc" "$usual" -Wl,-rpath,"$out" "${libs[@]}" -o "$out/cpp/$name"
}

say "tests"
build api && "$out/cpp/api"
build vectors
if [[ ${1:-} == --quick ]]; then
  "$out/cpp/vectors" "$out/vectors.flat" 10
  check_constants
  left_out "sanitizers, examples, the ABI, other compilers, most vectors"
  exit
fi
"$out/cpp/vectors" "$out/vectors.flat"

say "address and undefined-behaviour sanitizers"
sanitize=(-fsanitize=address,undefined -fno-sanitize-recover=all)
if printf 'int main() { return 0; }\n' | c++ "${sanitize[@]}" -x c++ - -o "$out/cpp/try" 2> /dev/null && "$out/cpp/try"; then
  build api-san "${sanitize[@]}" && "$out/cpp/api-san"
  build vectors-san "${sanitize[@]}" && "$out/cpp/vectors-san" "$out/vectors.flat" 10
  cc -std=c11 -g -O1 "${warn[@]}" -Wno-sign-conversion "${sanitize[@]}" bindings/c/tests/calls.c "$out/libtoolglot.a" \
    "${libs[@]}" -o "$out/cpp/calls"
  "$out/cpp/calls" 5000
else
  lacking "sanitizers, which the compiler lacks"
fi

say "examples, by their documented build lines"
export PREFIX=$out/cpp/prefix
rm -rf "$PREFIX" "$out/cpp/examples"
bindings/c/install.sh "$PREFIX" "$out"
mkdir -p "$out/cpp/examples"
ln -s "$root/examples" "$out/cpp/examples/examples"

# try NAME PROGRAM: runs an example and compares its output.
try() {
  "$2" < examples/transcript.txt > "$out/cpp/said" 2>&1
  diff "examples/expected/$1.txt" "$out/cpp/said"
}
export PKG_CONFIG_PATH=$PREFIX/lib/pkgconfig
for file in examples/c/minimal.c examples/c/callback.c examples/cpp/server_loop.cc; do
  name=$(basename "${file%.*}")
  lines=0
  while read -r line; do
    grep -qF "$line" docs/BINDINGS.md || { echo "docs/BINDINGS.md lacks: $line"; exit 1; }
    if [[ $line == *pkg-config* ]] && ! command -v pkg-config > /dev/null; then
      lacking "pkg-config, which is missing: $line"
      continue
    fi
    (cd "$out/cpp/examples" && rm -f "$name" && eval "$line -Wall -Wextra -Wpedantic -Werror")
    try "$name" "$out/cpp/examples/$name"
    lines=$((lines + 1))
  done < <(sed -n 's/^\( \*\|\/\/\)     \(\(cc\|c++\) .*\)$/\2/p' "$file")
  ((lines > 0))
  echo "$name: $lines build lines"
done

say "the programs of the README"
mkdir -p "$out/cpp/readme"
for name in c cpp; do readme_code $name > "$out/cpp/readme/host.$name"; done
line=$(sed -n 's/^\$ \(cc host.c .*\) && .*/\1/p' README.md)
(cd "$out/cpp/readme" && eval "$line -Wall -Wextra -Wpedantic -Werror")
(cd "$out/cpp/readme" && line=${line//host.c/host.cpp} && eval "c++ -std=c++17 ${line#cc}2 -Wall -Wextra -Wpedantic -Werror")
"$out/cpp/readme/host" | diff - <(printf 'text Looking. \ncall f\nargs {}\n')
"$out/cpp/readme/host2" | diff - <(printf 'Looking. \nweather {"city": "Leith"}\n')

say "examples, by CMake"
if command -v cmake > /dev/null; then
  for link in shared static isolated; do
    if [[ $link == isolated && ! -f $PREFIX/lib/libtoolglot_isolated.a ]]; then continue; fi
    rm -rf "$out/cpp/build"
    cmake -S examples -B "$out/cpp/build" -DCMAKE_PREFIX_PATH="$PREFIX" -DTOOLGLOT_LINK=$link > "$out/cpp/cmake.log"
    cmake --build "$out/cpp/build" > "$out/cpp/cmake.log"
    for name in minimal callback server_loop; do try $name "$out/cpp/build/$name"; done
  done
else
  lacking "examples by CMake, which is missing"
fi

say "the ABI"
check_constants
if abi_tools; then
  write_abi "$out/cpp/toolglot.abi"
  abidiff --no-added-syms $abi/toolglot.abi "$out/cpp/toolglot.abi"
else
  lacking "types of the ABI: abidiff (abigail-tools) is missing"
fi
