#!/usr/bin/env bash
# Rewrites what pages, the list of built-in dialects, the plans of sets and the fuzzer's dictionary say about dialects and about a
# stream. The same tests check it. A new file in src/dialect/builtin needs nothing else: it is listed, and gets an entry in docs/FORMATS.md.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
# The order of the list is that of the default set; dialects of reasoning alone come after those with calls.
list=src/dialect/builtin.rs
for file in src/dialect/builtin/*.toml; do
  id=$(basename "$file" .toml)
  grep -q "^    \"$id\"\$" "$list" || sed -i "0,/^    \"reasoning-/s//    \"$id\"\n&/" "$list"
done

# With the crates that ci/test.sh has built.
TOOLGLOT_WRITE=1 workspace test -q --lib -- --test-threads 1 pages:: rooms:: formats::entries_have_the_facts \
  plan::tests::plans_are
