#!/usr/bin/env bash
# The page: builds page/dist, which any file server can serve and `toolglot serve` contains, and tests it in headless Chromium. Installs what
# ci/wasm.sh installs, and axe-core below target/.
#
#   ci/page.sh              build and test
#   ci/page.sh --build      build only
#   ci/page.sh --frames     build, and measure the script of each frame while an argument of 2 MiB arrives
#   ci/page.sh --pictures   build, and write a picture of every state to target/page/pictures
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
out=$CARGO_TARGET_DIR/page
axe=4.14.1
mkdir -p "$out"
have_node || exit 77

say "build"
status=0
build_wasm toolglot-agent || status=$?
((status == 0)) || exit "$status"
dist=page/dist
rm -rf "$dist"
mkdir -p "$dist/toolglot"
cp -r page/index.html page/style.css page/icon.svg page/words.js page/sandbox.js page/app page/element "$dist/"
cp -r bindings/wasm/toolglot.js bindings/wasm/agent.js bindings/wasm/lib bindings/wasm/toolglot-agent.wasm "$dist/toolglot/"
echo "$dist: $(find "$dist" -type f | wc -l) files, $(du -sb "$dist" | cut -f1) bytes; without the parser $(cat "$dist"/*.* "$dist"/{app,element}/* | wc -c)"
if [[ ${1:-} == --build ]]; then exit; fi

if ! TOOLGLOT_CHROMIUM=$(find_chromium); then
  echo "SKIPPED: Chromium is missing and could not be installed: the page was built and not tested"
  exit 77
fi
export TOOLGLOT_CHROMIUM
if [[ ${1:-} == --frames ]]; then
  node page/tests/frames.mjs
  exit
fi

missing=
if npm_package "$out" axe-core "$axe"; then
  export TOOLGLOT_AXE=$out/node_modules/axe-core/axe.min.js
else
  missing="SKIPPED: axe-core is missing and could not be installed, so the states of the page were not checked with it"
  echo "$missing"
fi
if [[ ${1:-} == --pictures ]]; then
  export TOOLGLOT_PICTURES=$out/pictures
  node --test --test-timeout 600000 page/tests/look.test.mjs > "$out/pictures.log" || { cat "$out/pictures.log"; exit 1; }
  echo "$out/pictures: $(find "$out/pictures" -type f | wc -l) files"
  if [[ -n $missing ]]; then echo "$missing"; fi
  exit
fi

say "every vector, hostile inputs, the tester, runs, the real server, words, and accessibility in both themes"
cargo build -q -p toolglot-cli --features serve --locked
export TOOLGLOT_CLI=$CARGO_TARGET_DIR/debug/toolglot
# One file at a time: a browser needs both processors.
node --test --test-concurrency 1 --test-timeout 600000 page/tests/*.test.mjs > "$out/tests.log" 2>&1 || { grep -A 30 '^not ok\|^✖' "$out/tests.log" || cat "$out/tests.log"; exit 1; }
sed -n 's/^\(# \|ℹ \)pass /passed: /p; s/^\(# \|ℹ \)skipped \([1-9]\)/skipped: \2/p; s/^# \([0-9]* vectors.*\)/\1/p' "$out/tests.log"

say "the script of a frame"
node page/tests/frames.mjs
# Again where it is seen: what was not checked is no success.
if [[ -n $missing ]]; then echo "$missing"; fi
