# Shared by the scripts beside it; sourced from the root of the repository, not run. Status 77 means that a tool is missing and
# the stage was skipped.

# The fuzz crate is a separate workspace; share its common dependencies with the others.
share_target() {
  export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
}

# Checks that valgrind is installed, or installs it; prints a message if that fails.
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

# The version of the project.
own_version() {
  sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1
}

# install_packages VENV REQUIREMENTS [OPTION OF PIP]...: makes a virtual environment with these packages, again when the file
# has changed. False without venv or registry.
install_packages() {
  local venv=$1 wanted=$2
  shift 2
  if cmp -s "$wanted" "$venv/installed.txt"; then return 0; fi
  python3 -m venv --clear "$venv" 2> /dev/null &&
    "$venv/bin/python" -m pip install -q --disable-pip-version-check "$@" -r "$wanted" &&
    cp "$wanted" "$venv/installed.txt"
}

# install_pyarrow VENV: the same with pyarrow, which reads and writes Parquet; prints a message if that fails.
install_pyarrow() {
  sed -n '/^pyarrow==/p' bindings/python/extras.txt > "$1.txt"
  if ! install_packages "$1" "$1.txt"; then
    echo "SKIPPED: pyarrow cannot be installed (no venv, or no registry)"
    return 1
  fi
}

# cargo_tool NAME VERSION: installs a subcommand of cargo below target/, unless this version is there, and sets `tool` to its path.
# Fails if it cannot be installed.
cargo_tool() {
  local root=$CARGO_TARGET_DIR/${1#cargo-}
  tool=$root/bin/$1
  if [[ $("$tool" --version 2> /dev/null || true) != *" $2" ]] &&
    ! cargo install -q --locked --debug --version "$2" --root "$root" --target-dir "$root/build" "$1"; then
    echo "SKIPPED: $1 $2 is missing and could not be installed"
    return 77
  fi
}

# left_out WHAT...: says that a script leaves something out, because the run is a quick one. `run_stages` lists it at the end.
left_out() {
  echo "left out: $*"
  if [[ -n ${LEFT_OUT:-} ]]; then echo "$(basename "$0" .sh): $*" >> "$LEFT_OUT"; fi
}

# lacking WHAT...: the same, because a tool is missing. With CI_STRICT=1 the run fails at its end.
lacking() {
  left_out "$@"
  if [[ -n ${LEFT_OUT:-} ]]; then touch "$LEFT_OUT.lacking"; fi
}

# readme_code LANGUAGE: prints the README's program in that language.
readme_code() {
  sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/{/^\`\`\`/!p}" README.md
}

# Prints a heading within a stage.
say() { printf -- '-- %s\n' "$*"; }

# install_debian PACKAGE...: installs Debian packages, where possible.
install_debian() {
  if [[ $(id -u) != 0 ]] || ! command -v apt-get > /dev/null; then return 1; fi
  echo "installing $*" >&2
  apt-get update -q > /dev/null 2>&1 && apt-get install -y -q --no-install-recommends "$@" > "$CARGO_TARGET_DIR/apt.log" 2>&1
}

# Whether there is a Node.js that is new enough; prints a message if not.
have_node() {
  if node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' 2> /dev/null; then return 0; fi
  echo "SKIPPED: no Node.js 18 or later, so nothing was tested in it"
  return 1
}

# npm_package FOLDER NAME VERSION: installs a package of npm into a folder, unless it is there. False without a registry.
npm_package() {
  local have=$1/node_modules/$2/package.json
  if [[ $(node -p 'require(process.argv[1]).version' "$have" 2> /dev/null) == "$3" ]]; then return 0; fi
  npm install --silent --no-audit --no-fund --prefix "$1" "$2@$3" > "$1/npm.log" 2>&1
}

# Prints the path of Chromium, which is installed if it is missing. False if it cannot be.
find_chromium() {
  local there=(command -v chromium chromium-browser google-chrome)
  "${there[@]}" | grep -m 1 . && return 0
  install_debian chromium && "${there[@]}" | grep -m 1 .
}

# Debian's compiler for web browsers includes the sources of the standard library, which rustup's may lack.
debian_rust() {
  local minor
  minor=$(/usr/bin/rustc --version 2> /dev/null | sed -n 's/^rustc 1\.\([0-9]*\).*/\1/p')
  [[ -n $minor && $minor -ge $1 && -x /usr/bin/cargo ]] &&
    [[ -d $(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust/library ]]
}

wasm_linker() {
  command -v wasm-ld-22 || command -v wasm-ld || command -v rust-lld ||
    find "$(rustc --print sysroot 2> /dev/null)/lib/rustlib" -name rust-lld -type f 2> /dev/null | grep -m 1 .
}

# build_wasm FILE...: builds bindings/wasm/FILE.wasm; FILE is `toolglot` or `toolglot-agent`. Without a compiler, prints a message and
# returns 77.
build_wasm() {
  local target=wasm32-unknown-unknown crate=bindings/wasm out=$CARGO_TARGET_DIR/wasm/build file cargo features wanted
  wanted=$(sed -n 's/^rust-version = "1\.\(.*\)"/\1/p' Cargo.toml)
  if [[ -d $(rustc --print target-libdir --target "$target" 2> /dev/null) ]]; then
    cargo=(cargo build -q)
  else
    debian_rust "$wanted" || install_debian rustc-web cargo-web rust-web-src || true
    wasm_linker > /dev/null || install_debian lld-22 || true
    if ! debian_rust "$wanted" || ! wasm_linker > /dev/null; then
      echo "SKIPPED: no compiler, standard library or linker for $target, and none could be installed"
      return 77
    fi
    cargo=(env RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$(wasm_linker)"
      /usr/bin/cargo build -q -Zbuild-std=std,panic_abort)
  fi
  for file in "$@"; do
    features=()
    if [[ $file == toolglot-agent ]]; then features=(--features agent); fi
    # The flag names the source of the seeds of hash tables: bindings/wasm/src/seed.rs.
    CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS='--cfg getrandom_backend="custom"' \
      "${cargo[@]}" --package toolglot-wasm --profile wasm --locked --target "$target" --target-dir "$out" "${features[@]}" || return
    cp "$out/$target/wasm/toolglot_wasm.wasm" "$crate/$file.wasm"
    chmod 644 "$crate/$file.wasm"
  done
}

# workspace COMMAND [ARGUMENT]...: a command of cargo for all crates, with the library features that none of them enables. The
# features are always the same, so that one stage can use what another has built. The stable ABI of a Python module can be built
# without an interpreter. What only checks shares build scripts and macros with the tests, whose profile has neither debug
# information nor link-time optimisation.
workspace() {
  PYO3_BUILD_EXTENSION_MODULE=1 PYO3_NO_PYTHON=1 CARGO_PROFILE_DEV_DEBUG=false CARGO_PROFILE_DEV_LTO=off cargo "$1" --workspace --features toolglot/futures --locked "${@:2}"
}

# libraries [ARGUMENT]...: builds the libraries of C and Python, from the same parts as the tests.
libraries() {
  workspace build -q --exclude toolglot-wasm --tests --lib --profile test "$@"
}

# c_library FOLDER [FEATURE]: builds the C library, static and shared.
c_library() {
  libraries ${2:+--features "$2"}
  cp "$CARGO_TARGET_DIR"/debug/libtoolglot.{a,so} "$1/"
}

# usual_library FOLDER [--quick]: the library for programs that test neither of the two in particular. In a quick run that is
# the shared one, which links in a tenth of the time.
usual_library() {
  if [[ ${2:-} == --quick ]]; then echo "$1/libtoolglot.so"; else echo "$1/libtoolglot.a"; fi
}

# flat_vectors FOLDER: writes the vectors for C programs, FOLDER/vectors.flat and FOLDER/agents.flat, again when something that
# they are made from is newer.
flat_vectors() {
  local made=$1/vectors.flat
  mkdir -p "$1"
  if [[ -f $made && -z $(find Cargo.lock scan src tools agent testkit cli tests bindings/c/tests -newer "$made" -print -quit) ]]; then return 0; fi
  TOOLGLOT_FLAT=$1 workspace test -q --test flat
}

# Builds the fuzzer, with coverage for libFuzzer, which is C++, and sets `fuzzer` to its path. Without a C++ compiler, prints a
# message and returns 77. It needs neither `cargo fuzz` nor a nightly compiler, because the compiler is asked only for coverage.
build_fuzzer() {
  if ! command -v c++ > /dev/null && ! command -v clang++ > /dev/null; then
    echo "SKIPPED: no C++ compiler for libFuzzer, so nothing was fuzzed (tests still replay the corpus)"
    return 77
  fi
  share_target
  RUSTC_WRAPPER=$PWD/ci/campaign/rustc-coverage.sh \
    cargo build -q --manifest-path fuzz/Cargo.toml --release --locked --bin fuzz --target-dir "$CARGO_TARGET_DIR/fuzz"
  # shellcheck disable=SC2034 # for the scripts that source this file
  fuzzer=$CARGO_TARGET_DIR/fuzz/release/fuzz
}

# The same for sequences of calls of C (bindings/c/tests/calls.c), with the address sanitizer; after `build_fuzzer`.
build_c_fuzzer() {
  local out=$CARGO_TARGET_DIR/fuzz/release runtime
  RUSTC_WRAPPER=$PWD/ci/campaign/rustc-coverage.sh cargo build -q -p toolglot-c --release --locked --target-dir "$CARGO_TARGET_DIR/fuzz"
  runtime=$(find "$out/build" -name libfuzzer.a -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2)
  cc -std=c11 -g -O1 -DTOOLGLOT_FUZZ -fsanitize=address,undefined -fno-sanitize-recover=all -Iinclude bindings/c/tests/calls.c \
    "$out/libtoolglot.a" -Wl,--whole-archive "$runtime" -Wl,--no-whole-archive -lstdc++ -lm -lpthread -ldl -o "$out/fuzz-c"
}

# Runs stages, even after a failure, and lists at the end what was left out and what failed. The caller defines `command_of NAME`, which prints
# the command of a stage, and may define `after_stage NAME passed|skipped|FAILED SECONDS`.
run_stages() {
  local stage begun status verdict command failed=() skipped=()
  LEFT_OUT=$(mktemp)
  export LEFT_OUT
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
  sed 's/^/left out: /' "$LEFT_OUT"
  if ((${#skipped[@]} > 0)); then echo "skipped because a tool is missing: ${skipped[*]}"; fi
  if [[ ${CI_STRICT:-} == 1 ]] && { ((${#skipped[@]} > 0)) || [[ -e $LEFT_OUT.lacking ]]; }; then failed+=("a missing tool (CI_STRICT=1)"); fi
  rm -f "$LEFT_OUT" "$LEFT_OUT.lacking"
  if ((${#failed[@]} > 0)); then
    echo "FAILED after $SECONDS s: ${failed[*]}"
    return 1
  fi
  echo "$(($# - ${#skipped[@]})) of $# stages passed after $SECONDS s"
}
