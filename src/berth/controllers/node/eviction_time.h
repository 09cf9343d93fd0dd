// When a pod must leave a node with NoExecute taints. Rule: the Kubernetes taint eviction
// controller: at once if a taint is not tolerated; after the shortest tolerationSeconds among the
// tolerations used; never if none has one.
#pragma once

#include <optional>

#include "berth/base/time.h"
#include "berth/model/node.h"
#include "berth/model/pod.h"

namespace berth::controllers {

/// The instant at which the pod is evicted; none: it stays. A toleration's seconds run from when
/// the taint was added, but not from before the pod was bound.
std::optional<TimePoint> eviction_time(const model::Pod& pod, const model::Node& node);

} // namespace berth::controllers
