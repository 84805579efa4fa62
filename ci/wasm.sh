#!/usr/bin/env bash
# The WebAssembly package: its two files (with agents and without) are built, and tested in Node (the API, and every conformance
# vector), by TypeScript, and in headless Chromium; and examples/js runs, with the AI SDK too. All of it is not part of ci/all.sh: it
# installs a compiler for wasm32, a linker and a browser if they are missing, some 500 MB from Debian.
#
#   ci/wasm.sh                build and test
#   ci/wasm.sh --quick        runs the README's program in Node, with the file that is built, or with a debug build if rustup has
#                             its wasm32 target, or can add it
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
typescript=7.0.2
ai_sdk=7.0.173
ai_sdk_openai_compatible=3.0.92
mkdir -p "$out" "$tools"

# readme_program FOLDER: runs the README's program in a folder that has the package.
readme_program() {
  readme_code js > "$1/readme.js"
  (cd "$1" && node readme.js) | diff - <(printf 'text Looking. \ncall weather { city: '"'Leith'"' }\n')
}

have_node || exit 77
if [[ ${1:-} == --quick ]]; then
  target=wasm32-unknown-unknown
  file=$here/toolglot.wasm
  if [[ ! -f $file || -n $(find scan src tools bindings/wasm/src Cargo.lock bindings/c/src -newer "$file" -print -quit) ]]; then
    installed() { [[ -d $(rustc --print target-libdir --target $target 2> /dev/null) ]]; }
    if ! installed && ! { timeout 120 rustup target add $target > /dev/null 2>&1 && installed; }; then
      echo "SKIPPED: toolglot.wasm is not built or stale, and there is no target $target to build it"
      exit 77
    fi
    CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS='--cfg getrandom_backend="custom"' \
      cargo build -q --package toolglot-wasm --locked --target $target --target-dir "$out/debug"
    file=$out/debug/$target/debug/toolglot_wasm.wasm
  fi
  smoke=$out/smoke
  rm -rf "$smoke"
  mkdir -p "$smoke/node_modules/toolglot"
  cp -r "$here"/package.json "$here"/*.js "$here/lib" "$smoke/node_modules/toolglot/"
  cp "$file" "$smoke/node_modules/toolglot/toolglot.wasm"
  echo '{"type": "module"}' > "$smoke/package.json"
  readme_program "$smoke"
  left_out "the API's tests, vectors, types, a browser"
  exit
fi
say "build"
status=0
build_wasm toolglot toolglot-agent || status=$?
((status == 0)) || exit "$status"
for file in toolglot toolglot-agent; do
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
readme_program "$fresh"
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
if npm_package "$tools" typescript "$typescript"; then
  cp "$here/tests/types.ts" "$here/tests/tsconfig.json" "$fresh/"
  (cd "$fresh" && "$tools/node_modules/.bin/tsc" -p tsconfig.json)
  echo "typescript $typescript"
else
  lacking "types: TypeScript is missing and could not be installed"
fi

say "the examples"
exec {server}< <(exec node examples/js/text_server.mjs)
server_id=$!
trap 'kill "$server_id"' EXIT
read -r address <&"$server"
cp examples/js/*.mjs "$fresh/"
# example NAME: runs an example against the server.
example() {
  timeout 300 node "$fresh/$1.mjs" "$address" m | diff - "examples/expected/$1.txt"
  echo "$1.mjs"
}
example chat
if npm_package "$tools" ai "$ai_sdk" && npm_package "$tools" @ai-sdk/openai-compatible "$ai_sdk_openai_compatible"; then
  ln -s "$tools"/node_modules/{ai,@ai-sdk,zod} "$fresh/node_modules/"
  example with_ai_sdk
else
  lacking "with_ai_sdk.mjs: the AI SDK is missing and could not be installed"
fi

say "headless Chromium"
if chromium=$(find_chromium); then
  node "$here/tests/page.mjs" "$chromium"
  node "$here/tests/example.mjs" "$chromium" "$fresh/node_modules/toolglot" "$address"
else
  lacking "Chromium, which is missing and could not be installed"
fi
