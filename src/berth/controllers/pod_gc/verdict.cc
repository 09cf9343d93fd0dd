#include "berth/controllers/pod_gc/verdict.h"

#include "berth/controllers/pod_status.h"

namespace berth::controllers {

GarbageVerdict judge_pod(const api::Object& pod, PodsNode node) {
  const bool deleting = pod.meta().deletion_timestamp.has_value();
  // Nothing is left to do about a pod that has ended and is only held by finalizers.
  const bool held =
      deleting && terminal(pod) && pod.meta().deletion_grace_period_seconds.value_or(0) == 0;
  if (held) {
    return GarbageVerdict::Keep;
  }
  if (node_name(pod).empty()) {
    return deleting ? GarbageVerdict::NeverBound : GarbageVerdict::Keep;
  }
  switch (node) {
  case PodsNode::Fine:
    return GarbageVerdict::Keep;
  case PodsNode::Missing:
    return GarbageVerdict::NodeGone;
  case PodsNode::OutOfService:
    return deleting ? GarbageVerdict::OutOfService : GarbageVerdict::Keep;
  }
  return GarbageVerdict::Keep;
}

} // namespace berth::controllers
