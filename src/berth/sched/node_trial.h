// What if pods left a node and others came: the changes are made to the state, told to the filters
// of every session that looks on, and taken back at the end.
#pragma once

#include <span>
#include <vector>

#include "berth/sched/filter_session.h"

namespace berth::sched {

/// State and sessions are as before once it is gone. Trials end in reverse order of their making.
/// The sessions are of one state, at least one, and outlive it.
class NodeTrial {
 public:
  NodeTrial(std::span<FilterSession* const> sessions, NodeId node)
      : sessions_(sessions), node_(node) {}
  NodeTrial(const NodeTrial&) = delete;
  NodeTrial& operator=(const NodeTrial&) = delete;
  ~NodeTrial();

  /// Precondition: the pod is on the node.
  void remove(const PodPtr& pod);
  /// Precondition: the pod has no node, and nobody holds the GPUs.
  void add(const PodPtr& pod, hardware::GpuMask gpus);
  /// Reverses the last step.
  void take_back();

 private:
  enum class Kind { Removed, Added };
  struct Step {
    Undo undo;
    PodPtr pod;
    Kind kind;
  };
  void tell(Kind kind, const PodInfo& pod);
  ClusterState& state() { return sessions_.front()->state(); }

  std::span<FilterSession* const> sessions_;
  NodeId node_;
  std::vector<Step> steps_;
};

} // namespace berth::sched
