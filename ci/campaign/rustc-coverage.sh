#!/usr/bin/env bash
# The compiler of the fuzzer's build: asks for libFuzzer's coverage in our own crates. What they call in others is seen by what it
# makes ours do; instrumenting the others slows each run.
if [[ " $* " == *" --crate-name toolglot"* || " $* " == *" --crate-name fuzz "* ]]; then
  set -- "$@" -Ccodegen-units=1 -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-simplifycfg-branch-fold-threshold=0
fi
exec "$@"
