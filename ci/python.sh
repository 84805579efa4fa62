#!/usr/bin/env bash
# The Python package: the wheel is built, installed into a fresh environment, and tested there. Tools come from the registry and
# are installed only below the target folder.
#
#   ci/python.sh              build and test
#   ci/python.sh --quick      only its tests, with the module that the tests of Rust have built
#   ci/python.sh --stubs      rewrite the type stubs of the native module
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
root=$PWD
export LC_ALL=C.UTF-8
tools=$CARGO_TARGET_DIR/python-tools
fresh=$CARGO_TARGET_DIR/python-fresh
wheels=$CARGO_TARGET_DIR/python-wheels
wanted=bindings/python/requirements.txt
extras=bindings/python/extras.txt
version=$(own_version)

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2> /dev/null; then
  echo "SKIPPED: no Python 3.10 or later, so the Python package was not built"
  exit 77
fi
if ! cat "$wanted" "$extras" | cmp -s - "$tools/installed.txt"; then
  if ! python3 -m venv --clear "$tools" 2> /dev/null ||
    ! "$tools/bin/python" -m pip install -q --disable-pip-version-check -r "$wanted"; then
    echo "SKIPPED: maturin, mypy and pytest cannot be installed (no venv, or no registry), so the package was not built"
    exit 77
  fi
  if "$tools/bin/python" -m pip install -q --disable-pip-version-check -r "$extras"; then
    cat "$wanted" "$extras" > "$tools/installed.txt"
  else
    lacking "tests of optional packages that cannot be installed"
  fi
fi

# Runs a command and shows its output only if it fails.
quiet() {
  local said
  if ! said=$("$@" 2>&1); then
    echo "$said"
    return 1
  fi
}

# The environment has only the package; what only the tests need comes from the other environment.
python3 -m venv --clear "$fresh"
python=$fresh/bin/python
if [[ ${1:-} == --quick ]]; then
  libraries
  cd bindings/python
  # What pip would unpack from the wheel.
  installed=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  cp -r python/toolglot "$installed/"
  cp "$CARGO_TARGET_DIR/debug/libtoolglot_native.so" "$installed/toolglot/_native.abi3.so"
  "$tools/bin/maturin" pep517 write-dist-info --metadata-directory "$installed" > /dev/null
else
  # One profile for wheel and stubs, so that the second reuses the work of the first. Releases use `release`.
  build=(--profile quick --locked -i "$tools/bin/python")
  cd bindings/python
  rm -rf "$wheels"
  quiet "$tools/bin/maturin" build "${build[@]}" --out "$wheels"
  "$python" -m pip install -q --disable-pip-version-check --no-index --no-deps "$wheels"/*.whl
  # A source package must include the library too, with all its files.
  quiet "$tools/bin/maturin" sdist --out "$wheels/source"
  missing=$(comm -13 <(tar tzf "$wheels"/source/*.tar.gz | sed 's|^[^/]*/||' | sort) <(git -C "$root" ls-files src scan/src tools/src agent/src | sort))
  if [[ -n $missing ]]; then
    echo "the source package lacks:" $missing
    exit 1
  fi
fi
"$python" -c 'import toolglot; print("toolglot", toolglot.__version__, "in a fresh environment")'
packages=$("$tools/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
export PYTHONPATH=$packages PATH=$tools/bin:$PATH PYTHONDONTWRITEBYTECODE=1

if [[ ${1:-} == --stubs ]]; then
  "$python" stubs.py "${build[@]}"
  exit
fi
# Two halves at once: the tests with other people's packages take as long as all others.
half=(tests/test_real_clients.py tests/test_servers.py)
log=$CARGO_TARGET_DIR/python-half.log
status=0
"$python" -m pytest -rs "${half[@]}" > "$log" 2>&1 &
"$python" -m pytest -rs tests "${half[@]/#/--ignore=}" || status=$?
wait $! || status=$?
cat "$log"
((status == 0))
if [[ ${1:-} == --quick ]]; then
  left_out "the wheel, the source package, types, other interpreters"
  exit
fi
"$python" stubs.py --check "${build[@]}"
"$python" -m mypy.stubtest toolglot --ignore-disjoint-bases --mypy-config-file pyproject.toml --allowlist tests/stubtest.txt
"$python" -m mypy --cache-dir "$CARGO_TARGET_DIR/python-mypy" --strict -p toolglot
# Every public name has a type that a checker knows. Types of other packages do not count.
mkdir -p "$CARGO_TARGET_DIR/python-pyright"
if have_node > /dev/null && npm_package "$CARGO_TARGET_DIR/python-pyright" pyright 1.1.414; then
  (
    # shellcheck disable=SC1091
    . "$fresh/bin/activate"
    cd "$fresh"
    unset PYTHONPATH
    "$CARGO_TARGET_DIR/python-pyright/node_modules/.bin/pyright" --verifytypes toolglot --ignoreexternal | tee "$CARGO_TARGET_DIR/python-pyright/said.txt" | grep -E 'error|score'
    grep -q 'completeness score: 100%' "$CARGO_TARGET_DIR/python-pyright/said.txt"
  )
else
  lacking "the completeness of types, because pyright cannot be installed"
fi
# The command that the package carries, as a script and as a module, with its exit status.
for run in "$fresh/bin/toolglot" "$python -m toolglot"; do
  [[ $($run --version) == *" $version" ]]
  status=0
  $run no-such-command 2> /dev/null || status=$?
  [[ $status == 2 ]]
done

# The wheel supports every later interpreter too: those that are installed run the examples.
for version in 3.10 3.11 3.12 3.13 3.14; do
  other=python$version
  if "$other" -c '' 2> /dev/null && "$other" -m venv --clear "$fresh-$version" 2> /dev/null; then
    unset PYTHONPATH
    "$fresh-$version/bin/python" -m pip install -q --disable-pip-version-check --no-index --no-deps "$wheels"/*.whl
    "$fresh-$version/bin/python" tests/examples.py "$root"
  fi
done
