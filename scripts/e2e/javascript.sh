#!/usr/bin/env bash
# A cluster of `berth up`, driven by the JavaScript client: informers, patches, server-side apply, leader election.
. "$(dirname "${BASH_SOURCE[0]}")/lib/cluster.sh"

check 'up' 'ready' "$berth" up --port 0 --store memory --nodes dgx-h100:2
node scripts/e2e/lib/client.mjs || failed=1
exit $failed
