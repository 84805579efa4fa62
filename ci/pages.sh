#!/usr/bin/env bash
# Writes what pages and the fuzzer's dictionary say of the built-in dialects and of a stream. The same tests compare it.
set -euo pipefail
cd "$(dirname "$0")/.."
TOOLGLOT_WRITE=1 cargo test -q --locked -p toolglot-suite -- --test-threads 1 pages:: rooms:: formats::entries_have_the_facts
