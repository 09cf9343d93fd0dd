// The room on one node that a waiting pod could take: what is free, and what it could gain by
// preempting pods of lower priority.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "berth/sched/pod_info.h"
#include "berth/sched/resources.h"

namespace berth::sched {

class ClusterState;

/// A value: the node as it was when asked.
struct NodeRoom {
  /// What pods of one priority hold there.
  struct Share {
    std::int64_t priority = 0;
    Resources held;
    std::int64_t pods = 0;
    std::int64_t part_gpus = 0; ///< at most so many GPUs are held in parts
  };
  NodeId node;
  Resources free;
  std::int64_t pods = 0;                 ///< more pods the node may take
  std::optional<std::int64_t> open_gpus; ///< neither held nor unhealthy; none: indices unknown
  std::vector<Share> shares;             ///< by priority, lowest first

  /// Would the pod fit, by amounts, once every pod that it may preempt is gone? Necessary for the
  /// pod to be placed here now or after a preemption, not sufficient.
  bool could_hold(const PodInfo& pod) const;
  /// The same for GPUs in good health alone.
  bool could_give_gpus(const PodInfo& pod) const;
};

/// O(pods on the node).
NodeRoom room_on(const ClusterState& state, NodeId node);

} // namespace berth::sched
