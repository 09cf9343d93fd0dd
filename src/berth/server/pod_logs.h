// What reaches into a pod's containers: their logs; and exec, attach and port-forward, which
// simulated containers have not got. Source: pkg/registry/core/pod strategy.go (LogLocation,
// streamLocation), kubelet kubelet_pods.go (validateContainerLogStatus).
#pragma once

#include "berth/server/call.h"
#include "berth/server/status.h"

namespace berth::server {

/// GET pods/NAME/log. Of a pod that has no node yet: nothing, 204. Precondition: there are nodes.
Answer<net::HttpResponse> pod_log(const Shared& shared, const Call& call);

/// exec, attach, portforward of a pod that is there: 501, saying what to do instead.
Status pod_connection(const Shared& shared, const Call& call);

} // namespace berth::server
