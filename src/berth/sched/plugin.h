// The extension points of kube-scheduler's framework (spec 1.1) as one typed, two-stage interface:
// prepare() does the work of one pod once and returns a Run; the Run answers for each node. Effects
// (binding, API writes) are values that the scheduler process carries out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/sched/cluster_state.h"
#include "berth/sched/event.h"
#include "berth/sched/status.h"

namespace berth::sched {

inline constexpr std::int64_t kMaxNodeScore = 100;

/// What Reserve decides beside the node; PreBind writes it to the pod and its volumes.
struct Reservation {
  NodeId node;
  PodSlot slot; ///< of the pod, which is on the node already
  hardware::GpuMask gpus =
      0; ///< the framework holds them in the state once every plugin has reserved
  std::map<std::string, std::string> annotations;
  VolumePlan volumes = {};         ///< assumed in the state once every plugin has reserved
  model::ChosenSlices slices = {}; ///< held in the state likewise, and written as an annotation
};

/// What else a plugin wants done, by pod uid; the process does it after the call.
struct Effects {
  std::vector<std::string> allow;    ///< waiting pods this plugin now allows
  std::vector<std::string> reject;   ///< waiting pods this plugin rejects
  std::vector<std::string> activate; ///< pods to try now, whatever their backoff

  void merge(Effects other);
};

/// Permit: Success, Wait (with a timeout, capped at 15 minutes), or a rejection.
struct PermitResult {
  Status status;
  Duration timeout;
  Effects effects;
};

/// On what a Run's verdict and score of a node depend.
enum class Reach {
  Node,   ///< on that node as it is (its object, the pods on it), so a Run serves later pods too
  Domain, ///< on the node's cell alone, once told of all changes: see Run::cell
  Cluster ///< on other nodes or pods, or on what was prepared: ask anew for every pod
};
/// How a Run scores.
enum class Grading {
  None,     ///< pre_score says Skip
  Absolute, ///< score(node) is final: no normalize
  Relative  ///< by comparison: see Run::grade
};

/// One pod's prepared state, for one cycle, or for all pods of a shape while reach() is not Cluster
/// (see Decider). filter and score may be called for any node of the state, in any order.
class Run {
 public:
  virtual ~Run() = default;

  /// Asked again before every use; Node or Domain only if what was prepared still holds.
  virtual Reach reach() const { return Reach::Cluster; }
  /// Reach Domain: the state has changed so since the Run was prepared or last told. Appends other
  /// nodes whose cell is another one now.
  virtual void follow(const NodeChange&, std::vector<NodeId>&) {}
  /// Reach Domain: nodes of one cell get one verdict and one raw score, whatever these are at the
  /// moment. Appends what names the cell, as many numbers for every node.
  virtual void cell(NodeId, std::vector<std::uint64_t>&) const {}
  virtual Grading grading() const { return Grading::None; }
  /// Relative grading: nodes of one grade get one score, whatever other nodes there are, and scores
  /// depend only on which grades occur.
  virtual std::uint64_t grade(NodeId) { return 0; }

  /// Hot: no allocation, no text.
  virtual Verdict filter(NodeId) const { return Verdict::feasible(); }
  /// The only nodes that filter can pass, by id, if that is known.
  virtual std::optional<std::span<const NodeId>> only_on() const { return std::nullopt; }
  /// Texts of a verdict that filter gave for the node.
  virtual std::vector<std::string> reasons(NodeId, Verdict) const { return {}; }
  /// What if `pod` were (not) on `node`: the state has just been changed so; adjust what was
  /// prepared.
  virtual void add_pod(const PodInfo&, NodeId) {}
  virtual void remove_pod(const PodInfo&, NodeId) {}

  /// Before scoring, with the feasible nodes (two or more). Success, Skip (no score from this
  /// plugin) or Error.
  virtual Status pre_score(std::span<const NodeId>) { return Status::success(); }
  /// The same where each node stands for so many of its cell and grade.
  virtual Status pre_score_cells(std::span<const NodeId> nodes, std::span<const std::size_t>) {
    return pre_score(nodes);
  }
  /// Raw score, any range if normalize maps it.
  virtual std::int64_t score(NodeId) const { return 0; }
  /// Maps raw scores, in the order of `nodes`, into [0, 100].
  virtual void normalize(std::span<const NodeId>, std::span<std::int64_t>) const {}

  /// `pod`, of the shape this was prepared for, is assumed on reservation.node; choose what it
  /// holds there. Rejection or Error: unreserve is called for all.
  virtual Status reserve(const PodInfo&, const ClusterState&, Reservation&) {
    return Status::success();
  }
};

/// Result of PreFilter.
struct Prepared {
  /// Success; Skip: filter, add_pod, remove_pod are not called this cycle; Unschedulable or
  /// Pending: other plugins still prepare; Unresolvable: stops at once; Error.
  Status status;
  /// May be set with Skip: pre_score, score and reserve are still asked. Null: the plugin has
  /// nothing to say.
  std::unique_ptr<Run> run;
  /// Only these nodes can do; none: all. Sorted, distinct.
  std::optional<std::vector<NodeId>> nodes;
};

class FilterSession;

/// Result of PostFilter: status Success with a nomination, or Unschedulable / Unresolvable / Error
/// with the reason.
struct PostFilterResult {
  Status status;
  std::optional<std::string> nominated_node; ///< "" clears the pod's nomination; none leaves it
  std::vector<PodPtr> victims;               ///< to evict, most important first
  std::vector<PodPtr> denominated;           ///< lose their nomination to that node
  std::string note;                          ///< why these victims, for their events; "": unsaid
  Effects effects;
};

/// What the queue knows of a waiting pod, for QueueSort.
struct QueuedPod {
  PodPtr pod;
  TimePoint timestamp;       ///< of the last entry to the queue
  TimePoint initial_attempt; ///< first pop; unset: TimePoint()
  int attempts = 0;
  int unschedulable_count = 0;
  int consecutive_errors = 0;
  bool leftover = false; ///< tried again for its long wait alone, nothing happened that helps it
  std::string_view woken_by; ///< what brought it here: a label of queue_causes or of a ClusterEvent
  std::vector<std::string> unschedulable_plugins; ///< sorted
  std::vector<std::string> pending_plugins;       ///< sorted
  std::string gating_plugin;
};

/// Extension points a plugin takes part in; the framework calls no other.
enum class Point : std::uint32_t {
  PreEnqueue = 1U << 0,
  QueueSort = 1U << 1,
  Filter = 1U << 2, ///< with PreFilter: prepare()
  PostFilter = 1U << 3,
  Score = 1U << 4, ///< with PreScore and Normalize
  Reserve = 1U << 5,
  Permit = 1U << 6,
  PreBind = 1U << 7,
  Bind = 1U << 8,
  PostBind = 1U << 9,
};
using Points = std::uint32_t;
inline constexpr Points kEveryPoint = ~Points{0};
constexpr Points operator|(Point a, Point b) {
  return static_cast<Points>(a) | static_cast<Points>(b);
}
constexpr Points operator|(Points a, Point b) {
  return a | static_cast<Points>(b);
}

/// One policy. Immutable in the deciding sense: const methods, except notifications to stateful
/// plugins (unreserve, post_bind). Constructed from a profile by its factory.
class Plugin {
 public:
  virtual ~Plugin() = default;

  virtual std::string_view name() const = 0;
  virtual Points points() const = 0;
  /// Events that can turn this plugin's rejection; none: only the leftover flush wakes the pod.
  virtual std::vector<EventInterest> events() const { return {}; }
  /// Could the event, which events() covers, make the pod schedulable? Asked for pods this plugin
  /// rejected.
  virtual Hint hint(const PodInfo&, const ClusterEvent&) const { return Hint::Queue; }

  /// May the pod enter the active queue?
  virtual Status pre_enqueue(const PodInfo&) const { return Status::success(); }
  /// Strict weak order of the active queue.
  virtual bool less(const QueuedPod&, const QueuedPod&) const { return false; }

  /// PreFilter: once a cycle for each plugin with Filter, Score or Reserve. The state outlives the
  /// Run and changes only by what-if guards (told by add_pod and remove_pod) and by the assume
  /// before reserve.
  virtual Prepared prepare(const PodPtr&, const ClusterState&) const { return {}; }
  /// Does prepare() depend on more than the pod's shape and the state? Then it is asked for every
  /// pod.
  virtual bool looks_beyond_shape() const { return false; }
  /// Asked of those that do: would prepare() say the same of every pod of this one's shape? By
  /// default: if it has nothing to say.
  virtual bool shape_tells(const PodPtr& pod, const ClusterState& state) const {
    const Prepared prepared = prepare(pod, state);
    return prepared.run == nullptr && !prepared.nodes &&
           (prepared.status.ok() || prepared.status.code == StatusCode::Skip);
  }
  /// Does prepare() depend on more of the pod than its shape, through what others say of it? Then
  /// shade() says how.
  virtual bool sees_shades() const { return false; }
  /// Appends what tells pods of one shape apart in this state: equal shades, equal answers.
  virtual void shade(const PodInfo&, const ClusterState&, std::vector<std::uint32_t>&) const {}
  /// No node was feasible.
  virtual PostFilterResult post_filter(FilterSession&) const { return {}; }
  /// The pod is assumed and reserved on the node. Members already waiting are known to the plugin
  /// or the state.
  virtual PermitResult permit(const PodPtr&, NodeId, const ClusterState&) { return {}; }
  /// The pod lost its node after reserve began (also when another plugin failed); idempotent,
  /// cannot fail. The pod is still assumed in the state.
  virtual Effects unreserve(const PodPtr&, NodeId, const ClusterState&) { return {}; }
  /// The pod was bound.
  virtual void post_bind(const PodPtr&, NodeId, const ClusterState&) {}
};

} // namespace berth::sched
