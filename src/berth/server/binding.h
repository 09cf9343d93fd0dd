// Binding a pod to a node. Source: pkg/registry/core/pod/storage/storage.go.
#pragma once

#include "berth/server/reading.h"

namespace berth::server {

/// POST pods/NAME/binding, and the older POST bindings.
Answer<net::HttpResponse> bind_pod(const Shared& shared, Call& call);

} // namespace berth::server
