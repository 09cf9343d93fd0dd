#include "berth/sched/rejection_memo.h"

namespace berth::sched {

/// Others' anti-affinity may look at labels, which are not part of a shape; a nominated pod is one
/// of its kind.
bool RejectionMemo::applies(const ClusterState& state, const PodInfo& pod) {
  if (state.version() != version_) {
    known_.clear();
    version_ = state.version();
  }
  return pod.shape.valid() && state.nodes_with_affinity().empty() &&
         pod.pod->status.nominated_node_name.empty() && state.nominated_node(pod.uid).empty();
}

std::optional<Decision> RejectionMemo::find(const ClusterState& state, const PodInfo& pod) {
  if (!applies(state, pod)) {
    return std::nullopt;
  }
  const auto it = known_.find(pod.shape);
  if (it == known_.end()) {
    return std::nullopt;
  }
  Decision decision;
  decision.message = it->second.message;
  decision.unschedulable_plugins = it->second.unschedulable_plugins;
  decision.pending_plugins = it->second.pending_plugins;
  return decision;
}

void RejectionMemo::remember(const ClusterState& state, const PodInfo& pod,
                             const Decision& decision) {
  const bool no_effect = decision.outcome == Outcome::Unschedulable && !decision.nominated_node &&
                         decision.victims.empty() && decision.denominated.empty() &&
                         !decision.reserved_then_lost && decision.effects.allow.empty() &&
                         decision.effects.reject.empty() && decision.effects.activate.empty();
  if (no_effect && applies(state, pod)) {
    known_.insert_or_assign(pod.shape,
                            Rejection{.message = decision.message,
                                      .unschedulable_plugins = decision.unschedulable_plugins,
                                      .pending_plugins = decision.pending_plugins});
  }
}

} // namespace berth::sched
