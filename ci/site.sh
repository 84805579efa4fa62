#!/usr/bin/env bash
# The documentation as a site in target/site: every page of docs/, one page for each built-in dialect, and the page of page/ if it is
# built. Made without a network once the Markdown library is there; every link is checked, and clicked in headless Chromium.
#
#   ci/site.sh               make and check
#   ci/site.sh --pictures    also write pictures of some pages to target/site-pictures
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
out=$CARGO_TARGET_DIR/site-tools
mkdir -p "$out"
echo 'markdown-it-py==4.3.0' > "$out/wanted.txt"
if ! install_packages "$out/python" "$out/wanted.txt" || ! "$out/python/bin/python" -c 'import tomllib' 2> /dev/null; then
  echo "SKIPPED: no Python 3.11, or the Markdown library cannot be installed"
  exit 77
fi
cargo build -q -p toolglot-cli --locked
"$out/python/bin/python" ci/site.py "$CARGO_TARGET_DIR/site" "$CARGO_TARGET_DIR/debug/toolglot"
if ! have_node || ! chromium=$(find_chromium); then
  lacking "clicking through the site, because Node or Chromium is missing"
  exit
fi
pictures=()
if [[ ${1:-} == --pictures ]]; then pictures=("$CARGO_TARGET_DIR/site-pictures"); fi
node ci/site.mjs "$CARGO_TARGET_DIR/site" "$chromium" "${pictures[@]}"
