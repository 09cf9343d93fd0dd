// GET pods/NAME/log.
#pragma once

#include "berth/server/call.h"
#include "berth/server/status.h"

namespace berth::server {

/// Of a pod that has no node yet: nothing, 204. Otherwise the call's `later` has the answer, if
/// there is no error. Precondition: there are nodes.
Answer<net::HttpResponse> pod_log(const Shared& shared, Call& call);

} // namespace berth::server
