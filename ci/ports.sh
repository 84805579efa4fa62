#!/usr/bin/env bash
# The files of packaging/ and flake.nix, each checked as far as its own tools are here or can be installed, with libraries and programs
# that are built once. packaging/README.md says what that is.
#
#   ci/ports.sh                             check; with a release build
#   ci/ports.sh FOLDER                      with the libraries and programs of FOLDER
#   ci/ports.sh --formula ADDRESS FILE [HOMEPAGE]
#                                           print the Homebrew formula for a source archive and where it will be
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
version=$(own_version)
out=$CARGO_TARGET_DIR/ports

formula() {
  sed -e "s|@ADDRESS@|$1|" -e "s|@SHA256@|$2|" -e "s|@VERSION@|$version|" -e "s|@HOMEPAGE@|$3|" packaging/homebrew/toolglot.rb.in
}
if [[ ${1:-} == --formula ]]; then
  formula "$2" "$(sha256sum "$3" | cut -d ' ' -f 1)" "${4:-${2%/*}}"
  exit
fi

from=${1:-$CARGO_TARGET_DIR/release}
if (($# == 0)); then cargo build -q --release --locked -p toolglot-c -p toolglot-cli -p toolglot-gateway; fi
from=$(cd "$from" && pwd)
rm -rf "$out"
mkdir -p "$out"
export TOOLGLOT_BUILT=$from

say "Debian"
if command -v dh > /dev/null || install_debian debhelper lintian; then
  tree=$out/debian/toolglot-$version
  mkdir -p "$tree"
  git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --ignore-failed-read -cf - 2> /dev/null | tar -xf - -C "$tree"
  tar -C "$out/debian" -czf "$out/debian/toolglot_$version.orig.tar.gz" "toolglot-$version"
  mv "$tree/packaging/debian" "$tree/debian"
  # Without the dependencies of a build: the compiler is often rustup's.
  (cd "$tree" && dpkg-buildpackage -us -uc -d -b > "$out/debian.log" 2>&1) || { tail -n 20 "$out/debian.log"; exit 1; }
  (cd "$out/debian" && wc -c -- *.deb)
  if command -v lintian > /dev/null; then lintian --fail-on error "$out"/debian/*.changes; else lacking "lintian, which is missing"; fi
  # What was packed runs and links.
  for package in "$out"/debian/*.deb; do dpkg-deb -x "$package" "$out/debian/root"; done
  root=$out/debian/root/usr lib=$out/debian/root/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
  printf '<tool_call>{"name": "f", "arguments": {}}</tool_call>' | "$root/bin/toolglot" parse --output turn - | grep -q '"name":"f"'
  read -ra flags <<< "$(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --cflags --libs toolglot)"
  cc packaging/conan/test_package/host.c "${flags[@]}" -Wl,-rpath,"$lib" -o "$out/debian-host"
  "$out/debian-host"
else
  lacking "Debian's packages, because debhelper is missing"
fi

# Conan and vcpkg build with it.
command -v cmake > /dev/null || install_debian cmake || true

say "Conan"
echo 'conan==2.34.0' > "$out/wanted.txt"
if ! command -v cmake > /dev/null; then
  lacking "Conan's recipe, because CMake is missing"
elif install_packages "$CARGO_TARGET_DIR/ports-tools" "$out/wanted.txt"; then
  export CONAN_HOME=$out/conan
  conan=$CARGO_TARGET_DIR/ports-tools/bin/conan
  "$conan" profile detect > /dev/null 2>&1
  for shared in False True; do
    "$conan" create packaging/conan -o "toolglot/*:shared=$shared" -c tools.cmake.cmake_layout:test_folder="$out/conan-try" \
      -c tools.cmake.cmaketoolchain:user_presets= > "$out/conan.log" 2>&1 || { tail -n 20 "$out/conan.log"; exit 1; }
    echo "shared=$shared: $(grep "^$version: " "$out/conan.log")"
  done
else
  lacking "Conan, which cannot be installed"
fi

say "vcpkg"
python3 - "$version" <<'PY'
import json, sys
port = json.load(open("packaging/vcpkg/toolglot/vcpkg.json"))
assert list(port)[:2] == ["name", "version-semver"] and port["version-semver"] == sys.argv[1], port
PY
if command -v cmake > /dev/null; then
  for linkage in static dynamic; do
    cmake -DLINKAGE=$linkage -DOUT="$out/vcpkg-$linkage" -DBUILT="$from" -P packaging/vcpkg/try.cmake > "$out/vcpkg.log" 2>&1 ||
      { cat "$out/vcpkg.log"; exit 1; }
    kind=$([[ $linkage == static ]] && echo static || echo shared)
    cmake -S packaging/conan/test_package -B "$out/vcpkg-$linkage/try" -DKIND="$kind" -DCMAKE_PREFIX_PATH="$out/vcpkg-$linkage/packages" > "$out/vcpkg.log"
    cmake --build "$out/vcpkg-$linkage/try" > "$out/vcpkg.log"
    "$out/vcpkg-$linkage/try/host"
  done
else
  lacking "vcpkg's port, because CMake is missing"
fi

say "Homebrew"
formula http://localhost/toolglot.tar.gz "$(printf '%064d' 0)" http://localhost/ > "$out/toolglot.rb"
if command -v brew > /dev/null; then
  brew style "$out/toolglot.rb"
elif command -v ruby > /dev/null || install_debian ruby; then
  ruby -wc "$out/toolglot.rb"
else
  lacking "Homebrew's formula, because Ruby is missing"
fi

say "Nix"
if command -v nix-instantiate > /dev/null || install_debian nix-bin; then
  nix-instantiate --parse flake.nix > /dev/null
  # Against a stand-in for nixpkgs, which shows what it is asked for.
  nix-instantiate --eval --strict --json packaging/nix-try.nix 2> /dev/null > "$out/nix.json"
  grep -q "\"pname\":\"toolglot\".*\"version\":\"$version\"" "$out/nix.json"
  echo "the flake parses, and evaluates against a stand-in for nixpkgs"
else
  lacking "Nix's flake, because Nix is missing"
fi
