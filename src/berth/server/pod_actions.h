// What is asked of a pod beside reading and writing it: binding to a node, eviction. Sources:
// pkg/registry/core/pod/storage (storage.go, eviction.go).
#pragma once

#include "berth/server/reading.h"

namespace berth::server {

/// POST pods/NAME/binding, and the older POST bindings.
Answer<net::HttpResponse> bind_pod(const Shared& shared, Call& call);
/// POST pods/NAME/eviction: a deletion that PodDisruptionBudgets may refuse with 429.
Answer<net::HttpResponse> evict_pod(const Shared& shared, Call& call);

} // namespace berth::server
