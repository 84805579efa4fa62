#!/usr/bin/env bash
# Everything that is checked for a change. Each stage is a script of its own and runs alone too.
#
#   ci/all.sh                 the stages below
#   ci/all.sh lint test       these stages
#
# All stages run, also behind one that failed; the last line says which did.
set -euo pipefail
cd "$(dirname "$0")/.."

# Left out, for they take minutes or install much: check-vectors (the tests run the same vectors under the same cuts), bindings,
# grammar, json-schema, plugins, ray, templates, tokens and wasm. CONTRIBUTING.md says what each does.
stages=(format licences msrv lint test host c cpp clients python docs memory instructions fuzz)
if (($# > 0)); then stages=("$@"); fi

run() {
  case $1 in
    instructions) ci/instructions.sh --short ;;
    # Quick to build; long campaigns take the profile as it is.
    fuzz) FUZZ_SEED=1 CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_DEBUG=0 ci/fuzz.sh 8 ;;
    *) "ci/$1.sh" ;;
  esac
}

failed=()
skipped=()
for stage in "${stages[@]}"; do
  printf '\n==== %s ====\n' "$stage"
  begun=$SECONDS
  status=0
  run "$stage" || status=$?
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
done

echo
if ((${#failed[@]} > 0)); then
  echo "FAILED after $SECONDS s: ${failed[*]}"
  exit 1
fi
done=$((${#stages[@]} - ${#skipped[@]}))
if ((${#skipped[@]} > 0)); then
  echo "$done stages passed after $SECONDS s; skipped for want of a tool: ${skipped[*]}"
else
  echo "all $done stages passed after $SECONDS s"
fi
