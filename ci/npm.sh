#!/usr/bin/env bash
# The package for npm: builds the two WebAssembly files, packs, and runs it from a fresh folder as a module and as CommonJS. The
# result is in target/npm.
#
#   ci/npm.sh            build, pack, run
#   ci/npm.sh --quick    check the list of its files and its exports; builds nothing
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
here=bindings/wasm
out=$CARGO_TARGET_DIR/npm
have_node || exit 77

# Every file that the manifest exports is in the package. Both WebAssembly files are built later.
(cd "$here" && npm pack --dry-run --ignore-scripts --json 2> /dev/null) > "$CARGO_TARGET_DIR/npm.json"
node - "$here" "$CARGO_TARGET_DIR/npm.json" <<'JS'
const { readFileSync } = require("node:fs");
const manifest = JSON.parse(readFileSync(`${process.argv[2]}/package.json`, "utf8"));
let listed = JSON.parse(readFileSync(process.argv[3], "utf8"));
listed = (Array.isArray(listed) ? listed[0] : Object.values(listed)[0]).files.map((file) => file.path);
const walk = (at) => (typeof at === "string" ? [at] : Object.values(at).flatMap(walk));
const lost = walk(manifest.exports).map((path) => path.slice(2)).filter((path) => !path.endsWith(".wasm") && !listed.includes(path));
for (const file of ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "package.json"]) if (!listed.includes(file)) lost.push(file);
if (lost.length) throw new Error(`the package lacks ${lost}`);
console.log(`${listed.length} files; every export is among them`);
JS
if [[ ${1:-} == --quick ]]; then
  left_out "the WebAssembly files, and a run of the package"
  exit
fi

status=0
build_wasm toolglot toolglot-agent || status=$?
((status == 0)) || exit "$status"
rm -rf "$out"
mkdir -p "$out/fresh/node_modules/toolglot"
(cd "$here" && npm pack --silent --pack-destination "$out")
tar xzf "$out"/toolglot-*.tgz -C "$out/fresh/node_modules/toolglot" --strip-components 1
cat > "$out/fresh/module.mjs" <<'JS'
import { load } from "toolglot";
const { Engine } = await load();
console.log(new Engine().stream().feed("a <tool_call>")[0].text);
JS
cat > "$out/fresh/common.cjs" <<'JS'
const { load } = require("toolglot");
load().then(({ Engine }) => console.log(new Engine().stream().feed("a <tool_call>")[0].text));
JS
for program in module.mjs common.cjs; do
  [[ $(cd "$out/fresh" && node "$program") == "a "* ]] || { echo "$program prints something else"; exit 1; }
done
echo "$(wc -c < "$(ls "$out"/toolglot-*.tgz)") bytes packed; runs as a module and as CommonJS"
