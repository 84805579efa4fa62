#!/usr/bin/env bash
# Prose: the text on this machine (documentation, sources, pages) contains no calls, and nothing of it is lost. `PROSE` names
# folders, `PROSE_BYTES` says how many bytes to read (100 MiB). The repository's own files contain every marker with its
# grammar, so they are not read.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo test --locked --release -p toolglot-suite -- --ignored --nocapture prose::
