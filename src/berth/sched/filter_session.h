// The filters of one cycle, open for what-if: PostFilter asks again whether the pod fits after pods
// were taken away.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/sched/extender.h"
#include "berth/sched/framework.h"

namespace berth::sched {

inline constexpr std::size_t kNoEntry = static_cast<std::size_t>(-1);

/// A prepared plugin of this cycle.
struct ActiveRun {
  std::size_t entry = 0; ///< index in Framework::entries(); kNoEntry: the extenders' refusals
  std::unique_ptr<Run> run;
  bool filters = false;
  bool scores = false;
  bool reserves = false;
};

/// The best node, and how many can take the pod.
struct BestNode {
  NodeId node;
  std::size_t feasible = 0;
};

/// Why one node failed: the plugin (index of an ActiveRun) and what it said.
struct NodeFailure {
  NodeId node;
  std::uint32_t run = 0;
  Verdict verdict;
};

/// How many failures have the Run and verdict of each; one example of each.
std::vector<std::pair<NodeFailure, std::int64_t>>
count_verdicts(std::span<const NodeFailure> failures);

/// Pods nominated to the node that count as there when `pod` looks at it: not placed yet, of equal
/// or higher priority, another pod (spec 1.3).
std::vector<PodPtr> guests_for(const PodInfo& pod, NodeId node, const ClusterState& state);

class DryRunMemo;

/// Lives inside schedule_one. Runs filter with nominated pods (spec 1.3) where a node has any.
class FilterSession {
 public:
  FilterSession(const Framework& framework, ClusterState& state, PodPtr pod, TimePoint now);

  /// PreFilter of every plugin. Anything but Success ends the cycle (Error) or goes to PostFilter
  /// (rejection).
  Status prepare();
  /// Leaves only these nodes, sorted, as candidates. After prepare.
  void restrict_to(std::span<const NodeId> nodes);
  /// All filters on one node, in order, first failure decides; nominated pods of equal or higher
  /// priority count. Success leaves `run` meaningless.
  NodeFailure filter(NodeId node);
  /// What the filters behind the one that failed would have said too, on the node as it is.
  std::vector<NodeFailure> failures_after(const NodeFailure& failure) const;
  std::vector<std::string> reasons(const NodeFailure& failure) const;
  std::string_view plugin_of(const NodeFailure& failure) const;

  /// What-if around the state's own: tells the Runs, after the state has changed.
  void removed(const PodInfo& pod, NodeId node);
  void added(const PodInfo& pod, NodeId node);

  const PodPtr& pod() const { return pod_; }
  ClusterState& state() { return *state_; }
  const Framework& framework() const { return *framework_; }
  TimePoint now() const { return now_; }
  std::vector<ActiveRun>& runs() { return runs_; }
  /// Did PreFilter name the nodes to look at?
  bool narrowed() const { return narrowed_.has_value(); }
  /// Nodes to look at: all, or PreFilter's set.
  std::span<const NodeId> candidates() const;

  /// Nodes that were looked at and failed, filled by the cycle before PostFilter.
  std::vector<NodeFailure> failures;
  /// What every other node failed of: PreFilter rejected the pod or narrowed the nodes.
  std::optional<Status> absent;
  /// Counts nodes that filters passed and extenders refused as failed of plugin Extender.
  void refuse(const std::map<NodeId, Status>& by_extenders);
  /// What extenders said so far; null: none is interested in the pod.
  ExtenderTalk* extenders = nullptr;

  /// Plugins whose PreFilter rejected the pod or narrowed the nodes.
  std::vector<std::string> prefilter_plugins;
  /// What evicting pods came to for earlier pods of the same kind; null: nothing is remembered.
  DryRunMemo* dry_runs = nullptr;

 private:
  Status narrow(std::string_view plugin, std::vector<NodeId> nodes);
  NodeFailure filter_once(NodeId node) const;

  const Framework* framework_;
  ClusterState* state_;
  PodPtr pod_;
  TimePoint now_;
  std::vector<ActiveRun> runs_;
  std::vector<std::pair<std::uint32_t, const Run*>> filters_; // index in runs_
  std::optional<std::vector<NodeId>> narrowed_;
};

} // namespace berth::sched
