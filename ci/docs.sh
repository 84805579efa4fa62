#!/usr/bin/env bash
# The documentation builds without a warning, links between the pages of the repository are valid, and pictures say what the tables say.
# (Examples in the documentation run with the tests.)
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
# With all features of the library, as docs.rs builds it, and as ci/lint.sh has checked it.
RUSTDOCFLAGS="-D warnings" workspace doc --no-deps
python3 ci/links.py
python3 ci/plots.py --check
