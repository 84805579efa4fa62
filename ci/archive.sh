#!/usr/bin/env bash
# Archives for people without a compiler, in target/archives: the C library with its headers and packages, and the command with its manual
# pages and completions. The command is run, and the library linked, from what was packed.
#
#   ci/archive.sh                             with a release build
#   ci/archive.sh FOLDER [TARGET [RUNNER]]    with libraries and programs from FOLDER, which are for TARGET (by default this machine) and
#                                             which RUNNER runs; CC is the C compiler for that
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
version=$(own_version)
target=${2:-$(rustc -vV | sed -n 's/^host: //p')}
runner=${3:-env}
out=$CARGO_TARGET_DIR/archives
from=${1:-$CARGO_TARGET_DIR/release}
if (($# == 0)); then
  # Programs say which crates they hold, so that scanners can look up advisories for what is installed.
  build=build
  if cargo_tool cargo-auditable 0.7.7; then
    PATH=$(dirname "$tool"):$PATH
    build="auditable build"
  else
    lacking "lists of crates in the programs"
  fi
  # One after the other: Microsoft's linker would write the debug information of both to the same file.
  for packages in "-p toolglot-c" "-p toolglot-cli -p toolglot-gateway"; do
    # shellcheck disable=SC2086 # several words each
    cargo $build -q --release --locked $packages
  done
fi
exe="" strip=strip
# Microsoft's linker writes what only a debugger reads to files of its own, and GNU's `strip` refuses Rust's archives for Windows.
if [[ $target == *-windows-* ]]; then exe=.exe strip=true; fi
rm -rf "$out"
mkdir -p "$out"

# pack NAME: one archive with the same bytes for the same files.
pack() {
  local time
  time=$(git log -1 --format=%ct)
  if tar --version 2> /dev/null | grep -q GNU; then
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$time" -C "$out" -cf - "$1" | gzip -9n > "$out/$1.tar.gz"
  else
    tar -C "$out" -czf "$out/$1.tar.gz" "$1"
  fi
  rm -rf "${out:?}/$1"
}

library=libtoolglot-$version-$target
bindings/c/install.sh "$out/$library" "$from"
# Without what only a debugger reads.
find "$out/$library/lib" -type f \( -name '*.so.*' -o -name '*.dylib' -o -name '*.a' \) -exec $strip -S {} +
pack "$library"

tool=toolglot-$version-$target
mkdir -p "$out/$tool/bin" "$out/$tool/share/man/man1" "$out/$tool/share/bash-completion/completions" "$out/$tool/share/zsh/site-functions" \
  "$out/$tool/share/fish/vendor_completions.d" "$out/$tool/share/licenses/toolglot"
for program in toolglot toolglot-gateway; do
  if [[ -f $from/$program$exe ]]; then
    cp "$from/$program$exe" "$out/$tool/bin/"
    $strip "$out/$tool/bin/$program$exe"
  fi
done
if [[ -f $out/$tool/bin/toolglot-gateway$exe ]]; then
  "$runner" "$out/$tool/bin/toolglot-gateway$exe" --man > "$out/$tool/share/man/man1/toolglot-gateway.1"
fi
command=("$runner" "$out/$tool/bin/toolglot$exe")
"${command[@]}" man --dir "$out/$tool/share/man/man1"
"${command[@]}" completions bash > "$out/$tool/share/bash-completion/completions/toolglot"
"${command[@]}" completions zsh > "$out/$tool/share/zsh/site-functions/_toolglot"
"${command[@]}" completions fish > "$out/$tool/share/fish/vendor_completions.d/toolglot.fish"
cp LICENSE-* "$out/$tool/share/licenses/toolglot/"
cp README.md CHANGELOG.md "$out/$tool/"
pack "$tool"

# The sources, the same everywhere, so one machine of a release packs them. The ports build from them.
if [[ $(uname -sm) == "Linux x86_64" ]]; then
  git archive --prefix "toolglot-$version-source/" HEAD | gzip -9n > "$out/toolglot-$version-source.tar.gz"
fi

say "from the archives"
fresh=$(mktemp -d)
trap 'rm -r "$fresh"' EXIT
for archive in "$out"/*.tar.gz; do tar xzf "$archive" -C "$fresh"; done
printf '<tool_call>{"name": "f", "arguments": {}}</tool_call>' | "$runner" "$fresh/$tool/bin/toolglot$exe" parse --output turn - | grep -q '"name":"f"'
if [[ ${build:-} == auditable* && $target == *-linux-* ]]; then
  for program in toolglot toolglot-gateway; do
    objcopy --dump-section .dep-v0="$fresh/crates" "$fresh/$tool/bin/$program" /dev/null
    python3 - "$program" "$fresh/crates" Cargo.lock << 'END'
import json
import pathlib
import sys
import tomllib
import zlib

program, crates, lock = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
held = {(crate["name"], crate["version"]) for crate in json.loads(zlib.decompress(crates.read_bytes()))["packages"]}
locked = {(crate["name"], crate["version"]) for crate in tomllib.loads(lock.read_text())["package"]}
names = {name for name, _ in held}
if held - locked or not {"toolglot", "toolglot-scan", "memchr"} <= names:
    sys.exit(f"{program} lists other crates than it was built from: {sorted(held - locked)}")
print(f"{program} lists {len(held)} crates")
END
  done
fi
if [[ $target == *-msvc ]]; then
  left_out "a program that links the library, for Microsoft's compiler"
else
  # Windows looks for the library beside the program, other systems at the path in it.
  program=$fresh/$library/bin/minimal$exe
  mkdir -p "$fresh/$library/bin"
  "${CC:-cc}" bindings/c/tests/minimal.c -I"$fresh/$library/include" -L"$fresh/$library/lib" -Wl,-rpath,"$fresh/$library/lib" -ltoolglot -o "$program"
  "$runner" "$program" > /dev/null
fi
(cd "$out" && wc -c -- *.tar.gz)
