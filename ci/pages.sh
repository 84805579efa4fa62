#!/usr/bin/env bash
# Rewrites what pages and the fuzzer's dictionary say about the built-in dialects and about a stream. The same tests check it.
set -euo pipefail
cd "$(dirname "$0")/.."
TOOLGLOT_WRITE=1 cargo test -q --locked -p toolglot-suite -- --test-threads 1 pages:: rooms:: formats::entries_have_the_facts
