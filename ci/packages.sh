#!/usr/bin/env bash
# The crates as a registry would get them: what is in each, and the command installed from those files alone.
#
#   ci/packages.sh            pack, look into each; install the command from the packed sources, and build the README's program with them
#   ci/packages.sh --quick    pack and look into each; compiles nothing
#   ci/packages.sh --verify   also build every crate from its package, as publishing does
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
version=$(own_version)
out=$CARGO_TARGET_DIR/packages
crates=(toolglot-scan toolglot toolglot-tools toolglot-agent toolglot-testkit toolglot-gateway toolglot-serve toolglot-cli toolglot-c)

say "pack"
pack=(cargo package --workspace --exclude toolglot-suite --exclude toolglot-python --exclude toolglot-wasm --locked --allow-dirty)
if [[ ${1:-} == --verify ]]; then "${pack[@]}"; else "${pack[@]}" -q --no-verify; fi
rm -rf "$out"
mkdir -p "$out"
for crate in "${crates[@]}"; do tar xzf "$CARGO_TARGET_DIR/package/$crate-$version.crate" -C "$out"; done

say "contents"
# What a registry wants to know of a crate.
for crate in "${crates[@]}"; do
  folder=$out/$crate-$version
  for key in description license keywords categories readme rust-version; do
    grep -q "^$key = " "$folder/Cargo.toml" || { echo "$crate has no $key"; exit 1; }
  done
  for file in README.md LICENSE-APACHE LICENSE-MIT; do
    [[ -f $folder/$file ]] || { echo "the package of $crate lacks $file"; exit 1; }
  done
  echo "$crate: $(find "$folder" -type f | wc -l) files, $(wc -c < "$CARGO_TARGET_DIR/package/$crate-$version.crate") bytes packed"
done
# The built-in dialects are files that are compiled in.
diff <(git ls-files src/dialect | grep '\.toml$') <(cd "$out/toolglot-$version" && find src/dialect -name '*.toml' | LC_ALL=C sort)
if [[ ${1:-} == --quick ]]; then
  left_out "a build from the packages"
  exit
fi

say "the command, from the packages alone"
patches=()
for crate in "${crates[@]}"; do patches+=(--config "patch.crates-io.$crate.path=\"$out/$crate-$version\""); done
# Where no other manifest is above it. The lock of the package names a registry that does not have these versions yet.
install=$(mktemp -d)
trap 'rm -r "$install"' EXIT
mv "$out"/* "$install/"
for at in "${!patches[@]}"; do patches[at]=${patches[at]//"$out"/"$install"}; done
rm "$install/toolglot-cli-$version/Cargo.lock"
cp Cargo.lock "$install/toolglot-cli-$version/Cargo.lock"
(cd "$install" && cargo install -q --debug --path "toolglot-cli-$version" --root "$install/root" --target-dir "$CARGO_TARGET_DIR/packages-build" "${patches[@]}")
"$install/root/bin/toolglot" --version | grep -F "$version"
printf 'Looking. <tool_call>{"name": "f", "arguments": {}}</tool_call>' | "$install/root/bin/toolglot" parse --output turn - | grep -q '"name":"f"'
echo "the command was installed from the packages, and parses"

say "the program of the README, with the packages"
host=$install/host
mkdir -p "$host/src"
{ echo 'fn main() {'; readme_code rust; echo '}'; } > "$host/src/main.rs"
cat > "$host/Cargo.toml" <<TOML
[package]
name = "host"
edition = "2024"

[dependencies]
toolglot = "$version"
TOML
cp Cargo.lock "$host/"
(cd "$host" && cargo run -q --target-dir "$CARGO_TARGET_DIR/packages-build" "${patches[@]}")
