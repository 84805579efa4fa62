#!/usr/bin/env bash
# A soak of the gateway: exchanges of every kind, streamed and not, on every face, with servers that die in a call or refuse and
# clients that leave or are slow. No response may be wrong, and neither memory nor open files or exchanges may grow. Not part of
# ci/full.sh.
#
#   ci/soak.sh                an hour
#   ci/soak.sh 180            as many seconds
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
cargo bench -q -p toolglot-gateway --bench load --locked -- soak "${1:-3600}"
