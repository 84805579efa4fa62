#!/usr/bin/env bash
# Release wheels of this machine's processor, and the source package, in target/wheels. Each wheel is installed into a fresh environment and
# parses there.
#
#   ci/wheels.sh native           for the system that runs this
#   ci/wheels.sh manylinux_2_28   for Linux with glibc 2.28 or later (refused by maturin if the compiler links newer symbols)
#   ci/wheels.sh musllinux_1_2    for Linux with musl, built for rustup's musl target and not run
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
# The same everywhere, so one machine of a release makes it.
if [[ $(uname -sm) == "Linux x86_64" && $kind != musllinux_* ]]; then
  "$bin/maturin" sdist --manifest-path bindings/python/Cargo.toml --out "$out"
fi
if [[ $kind == musllinux_* ]]; then
  lacking "a run of the wheel for musl"
  exit
fi
fresh=$CARGO_TARGET_DIR/wheel-fresh
python3 -m venv --clear "$fresh"
in=$fresh/bin
[[ -d $in ]] || in=$fresh/Scripts
"$in/python" -m pip install -q --disable-pip-version-check --no-index --no-deps --find-links "$out" toolglot
"$in/python" -c 'import toolglot; turn = toolglot.parse("<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>"); assert turn.calls[0].name == "f"; print(toolglot.__version__)'
