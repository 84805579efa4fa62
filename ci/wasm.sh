#!/usr/bin/env bash
# The WebAssembly package: its two files (with agents and without) are built, and tested in Node (the API, and every conformance
# vector), by TypeScript, and in headless Chromium. Not part of ci/all.sh: it installs a compiler for wasm32, a linker and a
# browser if they are missing, some 500 MB from Debian.
#
#   ci/wasm.sh                build and test
#   ci/wasm.sh --build        build only: bindings/wasm/toolglot.wasm and toolglot-agent.wasm
#   ci/wasm.sh --bench        build, and measure sizes and the cost of a chunk
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
here=$PWD/bindings/wasm
out=$CARGO_TARGET_DIR/wasm
tools=$CARGO_TARGET_DIR/wasm-tools
target=wasm32-unknown-unknown
typescript=7.0.2
mkdir -p "$out" "$tools"

say() { printf -- '-- %s\n' "$*"; }

# Installs Debian packages, where possible.
install() {
  if [[ $(id -u) != 0 ]] || ! command -v apt-get > /dev/null; then return 1; fi
  echo "installing $*"
  apt-get update -q > /dev/null 2>&1 && apt-get install -y -q --no-install-recommends "$@" > "$out/apt.log" 2>&1
}

if ! node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' 2> /dev/null; then
  echo "SKIPPED: no Node.js 18 or later, so the WebAssembly package was not built"
  exit 77
fi

say "build"
wanted=$(sed -n 's/^rust-version = "1\.\(.*\)"/\1/p' "$here/Cargo.toml")
# Debian's compiler for web browsers includes the sources of the standard library, which rustup's may lack.
debian() {
  local minor
  minor=$(/usr/bin/rustc --version 2> /dev/null | sed -n 's/^rustc 1\.\([0-9]*\).*/\1/p')
  [[ -n $minor && $minor -ge $wanted && -x /usr/bin/cargo ]] &&
    [[ -d $(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust/library ]]
}
linker() {
  command -v wasm-ld-22 || command -v wasm-ld || command -v rust-lld ||
    find "$(rustc --print sysroot 2> /dev/null)/lib/rustlib" -name rust-lld -type f 2> /dev/null | grep -m 1 .
}
# The source of the seeds of hash tables: bindings/wasm/src/seed.rs.
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS='--cfg getrandom_backend="custom"'
# The program, and its extra arguments.
if [[ -d $(rustc --print target-libdir --target "$target" 2> /dev/null) ]]; then
  cargo=(cargo build -q)
else
  debian || install rustc-web cargo-web rust-web-src || true
  linker > /dev/null || install lld-22 || true
  if ! debian || ! linker > /dev/null; then
    echo "SKIPPED: no compiler, standard library or linker for $target, and none could be installed"
    exit 77
  fi
  cargo=(env RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$(linker)"
    /usr/bin/cargo build -q -Zbuild-std=std,panic_abort)
fi
for file in toolglot toolglot-agent; do
  features=()
  if [[ $file == toolglot-agent ]]; then features=(--features agent); fi
  "${cargo[@]}" --manifest-path "$here/Cargo.toml" --release --locked --target "$target" --target-dir "$out/build" "${features[@]}"
  cp "$out/build/$target/release/toolglot.wasm" "$here/$file.wasm"
  chmod 644 "$here/$file.wasm"
  echo "$file.wasm: $(wc -c < "$here/$file.wasm") bytes, $(gzip -9 -c "$here/$file.wasm" | wc -c) compressed by gzip"
done
if [[ ${1:-} == --build ]]; then exit; fi
if [[ ${1:-} == --bench ]]; then
  node "$here/bench.mjs"
  exit
fi

say "the API in Node"
(cd "$here" && node --test --expose-gc tests/api.test.mjs tests/agent.test.mjs tests/middleware.test.mjs > "$out/api.log" 2>&1) || { grep -A 30 '^not ok' "$out/api.log" || cat "$out/api.log"; exit 1; }
sed -n 's/^# pass /passed: /p' "$out/api.log"

say "every conformance vector in Node"
flat_vectors "$CARGO_TARGET_DIR/c" > /dev/null
node "$here/tests/vectors.mjs" "$CARGO_TARGET_DIR/c/vectors.flat"

say "the package, in a fresh folder"
fresh=$out/fresh
rm -rf "$fresh"
mkdir -p "$fresh/node_modules/toolglot"
(cd "$here" && npm pack --silent --pack-destination "$fresh" > /dev/null)
tar xzf "$fresh"/toolglot-*.tgz -C "$fresh/node_modules/toolglot" --strip-components 1
echo '{"type": "module"}' > "$fresh/package.json"

say "the programs of the README and of docs/WASM.md"
sed -n '/^```js$/,/^```$/{/^```/!p}' README.md > "$fresh/readme.js"
(cd "$fresh" && node readme.js) | diff - <(printf 'text Looking. \ncall weather { city: '"'Leith'"' }\n')
# Each program of the manual lists its output in comments.
csplit -s -z -f "$fresh/manual-" -b '%02d.js' <(sed -n '/^```js$/,/^```$/p' docs/WASM.md) '/^```js$/' '{*}'
programs=0
for file in "$fresh"/manual-*.js; do
  sed -i '/^```/d' "$file"
  (cd "$fresh" && node "$file") | diff - <(sed -n 's|.*// prints: ||p' "$file")
  programs=$((programs + 1))
done
((programs > 3))
echo "$programs programs of the manual"

say "types"
if [[ ! -x $tools/node_modules/.bin/tsc ]] || [[ $("$tools/node_modules/.bin/tsc" --version) != "Version $typescript" ]]; then
  npm install --silent --no-audit --no-fund --prefix "$tools" "typescript@$typescript" > "$out/npm.log" 2>&1 || true
fi
if [[ -x $tools/node_modules/.bin/tsc ]]; then
  cp "$here/tests/types.ts" "$here/tests/tsconfig.json" "$fresh/"
  (cd "$fresh" && "$tools/node_modules/.bin/tsc" -p tsconfig.json)
  echo "typescript $typescript"
else
  echo "TypeScript is missing and could not be installed: types were not checked"
fi

say "headless Chromium"
browser() { command -v chromium || command -v chromium-browser || command -v google-chrome; }
browser > /dev/null || install chromium || true
if browser > /dev/null; then
  node "$here/tests/page.mjs" "$(browser)"
else
  echo "Chromium is missing and could not be installed: the page was not tested"
fi
