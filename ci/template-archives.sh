# shellcheck shell=bash
# Fetches the archives with chat templates, and the packages that render them. Sourced; sets `here`, `work` and `venv`, and ends the
# script with 77 where there is no registry.

here=tests/templates
work=$CARGO_TARGET_DIR/templates
venv=$work/venv
mkdir -p "$work"
if ! install_packages "$venv" "$here/requirements.txt"; then
  echo "SKIPPED: the packages that render templates cannot be installed (no venv, or no registry)"
  exit 77
fi
if ! cmp -s "$here/archives.txt" "$work/fetched.txt"; then
  rm -rf "$work/unpacked" "$work/archives"
  if ! "$venv/bin/python" "$here/fetch.py" "$here/archives.txt" "$work/archives"; then
    echo "SKIPPED: the archives cannot be fetched"
    exit 77
  fi
  mkdir -p "$work/unpacked"
  for archive in "$work"/archives/*.tar.gz; do tar -xzf "$archive" -C "$work/unpacked"; done
  rm -rf "$work/archives"
  cp "$here/archives.txt" "$work/fetched.txt"
fi
export PYTHONDONTWRITEBYTECODE=1
