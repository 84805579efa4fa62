# Shared by the scripts beside it; sourced from the root of the repository, not run. Status 77 means that a tool is missing
# and the stage was skipped.

# The fuzz crate is a workspace of its own and shares what it has in common with the others.
share_target() {
  export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
}

# Whether valgrind is there, or could be installed. Says so where it is not.
need_valgrind() {
  if command -v valgrind > /dev/null; then return 0; fi
  if [[ $(id -u) == 0 ]] && command -v apt-get > /dev/null; then
    echo "valgrind is missing: installing it"
    if apt-get install -y -q valgrind > /dev/null 2>&1; then return 0; fi
    if apt-get update -q > /dev/null 2>&1 && apt-get install -y -q valgrind > /dev/null 2>&1; then return 0; fi
  fi
  echo "SKIPPED: valgrind is missing and could not be installed, so instructions were not counted"
  return 1
}

# install_packages VENV REQUIREMENTS [OPTION OF PIP]...: a virtual environment with these packages, made anew when the file has
# changed. False if there is no venv or no registry.
install_packages() {
  local venv=$1 wanted=$2
  shift 2
  if cmp -s "$wanted" "$venv/installed.txt"; then return 0; fi
  python3 -m venv --clear "$venv" 2> /dev/null &&
    "$venv/bin/python" -m pip install -q --disable-pip-version-check "$@" -r "$wanted" &&
    cp "$wanted" "$venv/installed.txt"
}

# test_workspace [ARGUMENT]...: the tests of all crates, with the features of the library that none of them turns on. Everything is built with
# the same features each time, so that one stage finds what another has built.
test_workspace() {
  cargo test --workspace --features toolglot/futures --locked "$@"
}

# c_library FOLDER [FEATURE]: the C library, static and shared, of what the tests are built of.
c_library() {
  cargo build -q --workspace --tests --lib --features "toolglot/futures${2:+,$2}" --profile test --locked
  cp "$CARGO_TARGET_DIR"/debug/libtoolglot.{a,so} "$1/"
}

# usual_library FOLDER [--quick]: what programs link that prove nothing about one of the two libraries. In a quick run that is the shared
# one, which takes a tenth of the time.
usual_library() {
  if [[ ${2:-} == --quick ]]; then echo "$1/libtoolglot.so"; else echo "$1/libtoolglot.a"; fi
}

# flat_vectors FOLDER: the vectors as C programs read them, FOLDER/vectors.flat and FOLDER/agents.flat, made anew where something that they are made of
# is newer.
flat_vectors() {
  local made=$1/vectors.flat
  mkdir -p "$1"
  if [[ -f $made && -z $(find Cargo.lock src tools agent cli tests bindings/c/tests -newer "$made" -print -quit) ]]; then return 0; fi
  TOOLGLOT_FLAT=$1 test_workspace -q --test vectors --test agents
}

fuzz_host() {
  rustc -vV | sed -n 's/^host: //p'
}

fuzz_program() {
  echo "$CARGO_TARGET_DIR/$(fuzz_host)/release/$1"
}

# Builds fuzz targets with coverage for libFuzzer, which is C++: where there is no compiler for that, says so and returns 77.
build_fuzz() {
  if ! command -v c++ > /dev/null && ! command -v clang++ > /dev/null; then
    echo "SKIPPED: no C++ compiler for libFuzzer, so nothing was fuzzed (tests replay the corpus all the same)"
    return 77
  fi
  share_target
  CARGO_TARGET_DIR=$CARGO_TARGET_DIR/fuzz
  local target bins=()
  for target in "$@"; do bins+=(--bin "$target"); done
  # A target triple keeps the flags away from build scripts.
  RUSTFLAGS="--cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Cllvm-args=-simplifycfg-branch-fold-threshold=0" \
    cargo build -q --manifest-path fuzz/Cargo.toml --release --locked --target "$(fuzz_host)" "${bins[@]}"
}

# Runs stages, also after one that failed, and says at the end which did. The caller says by `command_of NAME` how to run one,
# and may have `after_stage NAME passed|skipped|FAILED SECONDS`.
run_stages() {
  local stage begun status verdict command failed=() skipped=()
  for stage in "$@"; do
    printf '\n==== %s ====\n' "$stage"
    begun=$SECONDS
    status=0
    read -ra command <<< "$(command_of "$stage")"
    "${command[@]}" || status=$?
    case $status in
      0) verdict=passed ;;
      77)
        verdict=skipped
        skipped+=("$stage")
        ;;
      *)
        verdict=FAILED
        failed+=("$stage")
        ;;
    esac
    echo "---- $stage $verdict after $((SECONDS - begun)) s"
    if declare -F after_stage > /dev/null; then after_stage "$stage" "$verdict" $((SECONDS - begun)); fi
  done
  echo
  if ((${#skipped[@]} > 0)); then echo "skipped for want of a tool: ${skipped[*]}"; fi
  if ((${#failed[@]} > 0)); then
    echo "FAILED after $SECONDS s: ${failed[*]}"
    return 1
  fi
  echo "$(($# - ${#skipped[@]})) of $# stages passed after $SECONDS s"
}
