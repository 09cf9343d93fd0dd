// pods/NAME/exec, attach and portforward: whom they mean, and the way there. Source:
// pkg/registry/core/pod strategy.go (streamLocation), rest/subresources.go.
#pragma once

#include "berth/server/call.h"
#include "berth/server/status.h"

namespace berth::server {

/// The call's `later` has the answer, if there is no error. Precondition: there are nodes.
Answer<net::HttpResponse> pod_connection(const Shared& shared, Call& call);

} // namespace berth::server
