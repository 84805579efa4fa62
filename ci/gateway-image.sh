#!/usr/bin/env bash
# Builds the image of the gateway and runs it. Without a builder, the steps of gateway/Containerfile are tried here: its commands build the
# program from the files that an image would get, and the program runs alone in an empty root folder.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
file=gateway/Containerfile

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

for builder in podman buildah docker; do
  if command -v "$builder" > /dev/null && "$builder" info > /dev/null 2>&1; then
    say "$builder"
    "$builder" build -q -f "$file" -t toolglot-gateway . > /dev/null
    if [[ $builder == buildah ]]; then
      echo "built; buildah runs no image"
      exit
    fi
    asks "$builder" run --rm --network host toolglot-gateway --upstream http://127.0.0.1:9 --listen 127.0.0.1:0
    echo "the image was built, and its program answers"
    exit
  fi
done
echo "no builder of images: trying the steps here"

# Each RUN and ENV of the file, in order, in the files that the builder would copy.
root=$CARGO_TARGET_DIR/image
rm -rf "$root/src" "$root/root"
mkdir -p "$root/src" "$root/root"
git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --ignore-failed-read -cf - 2> /dev/null | tar -xf - -C "$root/src"
while read -r word rest; do
  case $word in
    ENV) export "${rest?}" ;;
    RUN)
      say "$rest"
      # The target may have been added before, and there may be no network.
      if ! (cd "$root/src" && CARGO_TARGET_DIR=$root/target bash -euo pipefail -c "$rest"); then
        if [[ $rest == rustup* ]]; then
          echo "SKIPPED: the target of the image cannot be installed, so its steps were not tried"
          exit 77
        fi
        exit 1
      fi
      ;;
  esac
done < "$file"
# The last stage: what it copies, from where the first one made it.
while read -r _ _ paths; do
  read -r -a all <<< "$paths"
  to=${all[-1]}
  for from in "${all[@]::${#all[@]}-1}"; do
    case $from in
      /src/target/*) from=$root/target/${from#/src/target/} ;;
      /src/*) from=$root/src/${from#/src/} ;;
    esac
    if [[ $to == */ ]]; then install -D "$from" "$root/root$to$(basename "$from")"; else install -D "$from" "$root/root$to"; fi
  done
done < <(grep '^COPY --from' "$file")
program=$root/root/toolglot-gateway
if ldd "$program" 2>&1 | grep -q '=>'; then
  echo "it links libraries:" >&2
  ldd "$program" >&2
  exit 1
fi
ls -l "$program"
if unshare -r true 2> /dev/null; then enter=(unshare -r chroot); else enter=(chroot); fi
asks "${enter[@]}" "$root/root" /toolglot-gateway --upstream http://127.0.0.1:9 --listen 127.0.0.1:0
echo "the steps work, and the program answers alone in an empty root folder"
