// POST pods/NAME/eviction: a deletion that PodDisruptionBudgets may refuse with 429. Source:
// pkg/registry/core/pod/storage/eviction.go.
#pragma once

#include "berth/server/reading.h"

namespace berth::server {

/// A pod that its budget lets go is noted in the budget, says why it goes, and is deleted. One with
/// several budgets is refused with 500.
Answer<net::HttpResponse> evict_pod(const Shared& shared, Call& call);

} // namespace berth::server
