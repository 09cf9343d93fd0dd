// The guard of a what-if change to ClusterState: going out of scope takes the change back, commit()
// keeps it.
#pragma once

#include <cstddef>
#include <utility>

#include "berth/sched/node_info.h"

namespace berth::sched {

class ClusterState;

/// A pod on a node.
struct PlacedPod {
  PodPtr pod;
  NodeId node;
  hardware::GpuMask gpus = 0; ///< indices held; 0 where unknown or none
  bool assumed = false;       ///< decided here, not yet seen bound
  bool parts_known = false;   ///< it is known of which GPUs the pod holds parts: `gpus`
  std::shared_ptr<const model::ChosenSlices> slices; ///< null where unknown or none

  bool operator==(const PlacedPod&) const = default;
};

/// Guards end in reverse order of their making (as locals do). After rollback the state equals the
/// state before (ClusterState::dump), except for generations, which only grow.
class [[nodiscard]] Undo {
 public:
  Undo(Undo&& other) noexcept;
  Undo& operator=(Undo&& other) noexcept;
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;
  ~Undo();

  /// Keeps the change.
  void commit();
  /// Takes it back now.
  void rollback();
  /// Of the pod that the change placed or removed.
  PodSlot slot() const { return change_.slot; }
  bool active() const { return state_ != nullptr; }

 private:
  friend class ClusterState;

  /// What was done to a pod, enough to reverse it.
  struct Change {
    enum class Kind { Placed, Removed } kind = Kind::Placed;
    PlacedPod placed;
    PodSlot slot;
    std::size_t position = 0;     ///< index in the node's list of pods
    std::uint64_t before = 0;     ///< changes of the state before this one
    std::uint64_t generation = 0; ///< of the node before
  };
  Undo(ClusterState& state, Change change) : state_(&state), change_(std::move(change)) {}

  ClusterState* state_ = nullptr;
  Change change_;
};

} // namespace berth::sched
