#!/usr/bin/env bash
# Builds the images of the command and of the gateway, and runs their programs. Where the first stage cannot be built for lack of a
# builder or of the image of the compiler, its steps run here, on the files that an image would get; a builder that is there then makes
# the last stages of the results, and without one the programs run alone in an empty root folder.
#
#   ci/image.sh            with the release build that an image gets
#   ci/image.sh --quick    without optimization
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
file=Containerfile
# What the build leaves: a root folder with the paths of the first stage.
root=$CARGO_TARGET_DIR/image
if [[ ${1:-} == --quick ]]; then
  export CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off
fi

# reads COMMAND...: the command parses standard input.
reads() {
  local said
  said=$(printf 'Looking. <tool_call>{"name": "f", "arguments": {}}</tool_call>' | "$@" parse --output turn -)
  [[ $said == *'"name":"f"'* ]] || { echo "the command prints something else: $said" >&2; return 1; }
}

# asks COMMAND...: starts a gateway and asks whether it is alive. It ends with this shell.
asks() {
  local line
  coproc gateway { exec "$@"; }
  # shellcheck disable=SC2064
  trap "kill $gateway_PID 2> /dev/null || true" EXIT
  if ! read -r -t 60 line <&"${gateway[0]}"; then
    echo "the gateway does not start" >&2
    return 1
  fi
  echo "$line"
  if [[ $(curl -s "${line#listening on }/healthz") != ok ]]; then
    echo "it does not answer" >&2
    return 1
  fi
}

for builder in podman docker; do
  if command -v "$builder" > /dev/null && "$builder" info > /dev/null 2>&1 && "$builder" pull -q docker.io/library/rust:1-bookworm > /dev/null 2>&1; then
    for target in command gateway; do
      say "$builder: $target"
      "$builder" build -q -f "$file" --target "$target" -t "toolglot-$target" . > /dev/null
    done
    reads "$builder" run --rm -i toolglot-command
    asks "$builder" run --rm --network host toolglot-gateway --upstream http://127.0.0.1:9 --listen 127.0.0.1:0
    echo "the images were built, and their programs answer"
    exit
  fi
done
echo "no builder of images, or no image of the compiler: trying the steps here"

# Each RUN and ENV of the first stages, in order, in the files that the builder would copy.
rm -rf "$root/src"
mkdir -p "$root/src"
git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --ignore-failed-read -cf - 2> /dev/null | tar -xf - -C "$root/src"
while read -r word rest; do
  case $word in
    ENV) export "${rest?}" ;;
    RUN)
      say "$rest"
      # The target may have been added before, and there may be no network.
      if ! (cd "$root/src" && CARGO_TARGET_DIR=$root/src/target bash -euo pipefail -c "$rest"); then
        if [[ $rest == rustup* ]]; then
          echo "SKIPPED: the target of the image cannot be installed, so its steps were not tried"
          exit 77
        fi
        exit 1
      fi
      ;;
  esac
done < "$file"
install -D -t "$root/etc/ssl/certs" /etc/ssl/certs/ca-certificates.crt
for program in "$root"/src/target/*/release/toolglot{,-gateway}; do
  if ldd "$program" 2>&1 | grep -q '=>'; then
    echo "it links libraries:" >&2
    ldd "$program" >&2
    exit 1
  fi
done

if command -v buildah > /dev/null; then
  # Everything below target/, so that nothing of this machine's own images is touched.
  store=(buildah --root "$root/store" --runroot "$root/run" --storage-driver vfs)
  for target in command gateway; do
    say "buildah: the last stage of $target"
    "${store[@]}" bud -q --isolation chroot --target "$target" --build-context "build-$target=$root" -f "$file" -t "toolglot-$target" "$root/etc" > /dev/null
    "${store[@]}" inspect --type image --format '{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}}' "toolglot-$target"
  done
  "${store[@]}" images --format '{{.Name}} {{.Size}}'
  ids=()
  for target in command gateway; do ids+=("$("${store[@]}" from "toolglot-$target")"); done
  run=("${store[@]}" run --isolation chroot --user 65534:65534)
  reads "${run[@]}" "${ids[0]}" -- /toolglot
  "${run[@]}" "${ids[1]}" -- /toolglot-gateway --version
  "${store[@]}" rm "${ids[@]}" > /dev/null
  echo "the steps work, the images were made of the results, and their programs run without rights of the superuser"
  exit
fi

# The last stages, one folder for both.
rm -rf "$root/alone"
mkdir -p "$root/alone/data"
cp "$root"/src/target/*/release/toolglot{,-gateway} "$root/alone/"
ls -l "$root/alone"
if unshare -r true 2> /dev/null; then enter=(unshare -r chroot); else enter=(chroot); fi
reads "${enter[@]}" "$root/alone" /toolglot
asks "${enter[@]}" "$root/alone" /toolglot-gateway --upstream http://127.0.0.1:9 --listen 127.0.0.1:0
echo "the steps work, and the programs answer alone in an empty root folder"
