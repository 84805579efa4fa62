#!/usr/bin/env bash
# Only permissive licences, and only packages of the one public registry, none from a version control system.
set -euo pipefail
cd "$(dirname "$0")/.."
python3 ci/licences.py Cargo.toml fuzz/Cargo.toml bindings/c/header/Cargo.toml tests/host/Cargo.toml
# Each package that is published from its own folder has the licence texts.
for folder in scan tools agent testkit cli gateway serve bindings/c bindings/go bindings/python bindings/wasm; do
  for text in LICENSE-APACHE LICENSE-MIT; do cmp "$text" "$folder/$text"; done
done
