#!/usr/bin/env bash
# Prose: what this machine has (documentation, sources, pages) holds no call, and nothing of it is lost. `PROSE` names folders, `PROSE_BYTES` says how
# many bytes are enough (100 MiB). The repository's own files name every marker with its grammar; they are not read.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo test --locked --release -p toolglot-suite -- --ignored --nocapture prose::
