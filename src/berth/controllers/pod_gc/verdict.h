// Whether a pod is garbage. Rules: the Kubernetes pod garbage collector: pods of nodes that are
// gone, deleted pods that no node will ever end, deleted pods on nodes declared out of service.
#pragma once

#include <cstdint>

#include "berth/api/object.h"

namespace berth::controllers {

/// What is known of the node a pod is bound to.
enum class PodsNode {
  Fine,
  Missing,     ///< for longer than the quarantine, and not on the server either
  OutOfService ///< not ready and tainted node.kubernetes.io/out-of-service
};

enum class GarbageVerdict {
  Keep,
  NodeGone,     ///< mark as disrupted and failed, delete by force
  OutOfService, ///< mark failed, delete by force
  NeverBound,   ///< mark failed, delete by force
};

GarbageVerdict judge_pod(const api::Object& pod, PodsNode node);

} // namespace berth::controllers
