// Rejections that still hold: while the state is the same, a pod of the same shape fails the same.
// A crowd of pods that fits nowhere then costs one decision a shape, not one a pod.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "berth/sched/cycle.h"

namespace berth::sched {

/// Holds for plugins whose verdict is a function of the state and the pod's shape alone: all of
/// this room. Pods in groups, whose plugin knows more, must not be asked about or remembered.
class RejectionMemo {
 public:
  /// The decision schedule_one would make, if a pod of this shape was rejected in this very state
  /// without any effect. O(1).
  std::optional<Decision> find(const ClusterState& state, const PodInfo& pod);
  /// Remembers what schedule_one decided in this state, if it is worth it.
  void remember(const ClusterState& state, const PodInfo& pod, const Decision& decision);

 private:
  struct Rejection {
    std::string message;
    std::vector<std::string> unschedulable_plugins;
    std::vector<std::string> pending_plugins;
  };
  bool applies(const ClusterState& state, const PodInfo& pod);

  std::uint64_t version_ = 0; ///< of the state that `known_` is about
  std::unordered_map<ShapeId, Rejection> known_;
};

} // namespace berth::sched
