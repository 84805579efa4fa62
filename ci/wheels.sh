#!/usr/bin/env bash
# Release wheels of this machine's processor, and the source package, in target/wheels. Each is installed into a fresh environment, where the
# quick start of the README runs.
#
#   ci/wheels.sh native           for the system that runs this
#   ci/wheels.sh manylinux_2_28   for Linux with glibc 2.28 or later (refused by maturin if the compiler links newer symbols)
#   ci/wheels.sh musllinux_1_2    for Linux with musl, built for rustup's musl target, run in a Python that ci/musl-python.sh builds
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
kind=${1:-native}
out=$CARGO_TARGET_DIR/wheels
tools=$CARGO_TARGET_DIR/wheel-tools
mkdir -p "$out"
grep '^maturin==' bindings/python/requirements.txt > "$out.txt"
# Zig links against the symbols of an old glibc, or musl, on any Linux.
echo 'ziglang>=0.13' >> "$out.txt"
if ! install_packages "$tools" "$out.txt"; then
  echo "SKIPPED: maturin cannot be installed"
  exit 77
fi
bin=$tools/bin
[[ -d $bin ]] || bin=$tools/Scripts
options=(--release --locked --manifest-path bindings/python/Cargo.toml --out "$out")
case $kind in
  native) ;;
  manylinux_*) options+=(--compatibility "$kind" --zig) ;;
  musllinux_*)
    target=$(uname -m)-unknown-linux-musl
    if ! rustup target add "$target"; then
      echo "SKIPPED: no standard library for $target"
      exit 77
    fi
    options+=(--compatibility "$kind" --zig --target "$target")
    ;;
  *)
    echo "ci/wheels.sh knows no $kind" >&2
    exit 2
    ;;
esac
PATH=$bin:$PATH "$bin/maturin" build "${options[@]}"

# quick_start PYTHON: the README's lines print what they say.
quick_start() {
  readme_code python > "$CARGO_TARGET_DIR/quick-start.txt"
  "$1" -m doctest "$CARGO_TARGET_DIR/quick-start.txt"
  "$1" -c 'import toolglot; print(toolglot.__version__, toolglot.__file__)'
}

# installed FILE: the same from a fresh environment, which has nothing else, and the command of the package.
installed() {
  local fresh=$CARGO_TARGET_DIR/wheel-fresh in
  python3 -m venv --clear "$fresh"
  in=$fresh/bin
  [[ -d $in ]] || in=$fresh/Scripts
  "$in/python" -m pip install -q --disable-pip-version-check --no-deps "$1"
  quick_start "$in/python"
  printf '<tool_call>{"name": "f", "arguments": {}}</tool_call>' | "$in/toolglot" parse --output turn - | grep -q '"name":"f"'
}

if [[ $kind == musllinux_* ]]; then
  status=0
  musl=$(ci/musl-python.sh) || status=$?
  if ((status == 77)); then
    lacking "a run of the wheel for musl"
    exit
  fi
  ((status == 0)) || exit "$status"
  say "the wheel, in a Python for musl"
  rm -rf "$CARGO_TARGET_DIR/wheel-musl"
  python3 -m zipfile -e "$out"/toolglot-*-"$kind"_"$(uname -m)".whl "$CARGO_TARGET_DIR/wheel-musl"
  export PYTHONPATH=$CARGO_TARGET_DIR/wheel-musl
  quick_start "$musl"
  exit
fi
say "the wheel"
installed "$(ls -t "$out"/toolglot-*.whl | head -n 1)"
# The same everywhere, so one machine of a release makes it.
if [[ $(uname -sm) == "Linux x86_64" ]]; then
  say "the source package"
  "$bin/maturin" sdist --manifest-path bindings/python/Cargo.toml --out "$out"
  installed "$out/toolglot-$(own_version).tar.gz"
fi
