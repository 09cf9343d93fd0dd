#!/usr/bin/env bash
# Manifests that people use, by kubectl: applied, applied again, by server-side apply, compared, read back, deleted.
#   scripts/e2e/inputs.sh [DIR]    DIR/crds/ has CustomResourceDefinitions, the rest of DIR what is applied
. "$(dirname "${BASH_SOURCE[0]}")/lib/cluster.sh"

dir=${1:-../shared/inputs}
[ -d "$dir" ] || {
  echo "SKIPPED: no manifests at $dir"
  exit 0
}
want_tools 35
check 'up' 'ready' "$berth" up --port 0 --store memory
node scripts/e2e/lib/inputs.mjs "$k" "$dir" || failed=1
exit $failed
