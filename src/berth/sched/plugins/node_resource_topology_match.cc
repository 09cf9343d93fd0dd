#include "berth/sched/plugins/node_resource_topology_match.h"

#include <algorithm>
#include <set>

namespace berth::sched {
namespace {

constexpr std::uint64_t kStale = 100; ///< details below are NumaMisfits

class NumaRun final : public Run {
 public:
  NumaRun(const PodInfo& pod, const ClusterState& state, const NumaMatchArgs& args)
      : state_(&state), args_(&args), pod_(numa_pod(pod.pod->spec, state.resource_names())) {}

  /// What-if pods are not on their way to a node, which the node alone does not tell.
  Reach reach() const override {
    return args_->discard_reserved_nodes ? Reach::Cluster : Reach::Node;
  }
  Grading grading() const override { return Grading::Absolute; }

  Verdict filter(NodeId node) const override {
    if (pod_.needs_nothing) {
      return Verdict::feasible();
    }
    if (args_->discard_reserved_nodes && is_reserved(node)) {
      return Verdict::unschedulable(kStale);
    }
    const NumaReport* report = look_at(node);
    if (report == nullptr || !report->single_numa_node) {
      return Verdict::feasible();
    }
    const NumaMisfit misfit = numa_misfit(pod_, *report, state_->node(node).allocatable, room_);
    return misfit == NumaMisfit::None ? Verdict::feasible()
                                      : Verdict::unschedulable(static_cast<std::uint64_t>(misfit));
  }

  std::vector<std::string> reasons(NodeId, Verdict verdict) const override {
    if (verdict.detail == kStale) {
      return {std::string(kReasonNumaStale)};
    }
    switch (static_cast<NumaMisfit>(verdict.detail)) {
    case NumaMisfit::Pod:
      return {std::string(kReasonNumaPod)};
    case NumaMisfit::Container:
      return {std::string(kReasonNumaContainer)};
    case NumaMisfit::InitContainer:
      return {std::string(kReasonNumaInitContainer)};
    case NumaMisfit::None:
      return {};
    }
    return {};
  }

  void add_pod(const PodInfo& pod, NodeId) override { imagined_.insert(pod.uid); }
  void remove_pod(const PodInfo& pod, NodeId) override { imagined_.erase(pod.uid); }

  std::int64_t score(NodeId node) const override {
    if (!pod_.guaranteed) {
      return kMaxNodeScore;
    }
    const NumaReport* report = look_at(node);
    return report == nullptr
               ? 0
               : numa_score(pod_, *report, args_->scoring, state_->resource_names(), room_);
  }

 private:
  bool is_reserved(NodeId node) const {
    return std::ranges::any_of(state_->node(node).pods, [&](PodSlot slot) {
      const PlacedPod& placed = state_->placed(slot);
      return placed.assumed && !imagined_.contains(placed.pod->uid);
    });
  }

  /// The report that counts, with what is free by it in room_; null: none.
  const NumaReport* look_at(NodeId node) const {
    const NodeReports& reports = state_->reports(node);
    const NumaReport* report =
        args_->over_reserve ? reports.settled_numa.get() : reports.numa.get();
    if (report == nullptr) {
      return nullptr;
    }
    room_.resize(report->zones.size());
    for (std::size_t i = 0; i < room_.size(); ++i) {
      room_[i] = report->zones[i].available;
    }
    if (args_->over_reserve) {
      for (const PodSlot slot : state_->node(node).pods) {
        const PodInfo& pod = *state_->placed(slot).pod;
        if (!std::ranges::binary_search(reports.settled_pods, pod.uid)) {
          take_everywhere(pod);
        }
      }
    }
    return report;
  }

  void take_everywhere(const PodInfo& pod) const {
    for (KnownAmounts& zone : room_) {
      for (auto& [resource, free] : zone) {
        free = std::max<std::int64_t>(0, free - std::min(free, pod.request(resource)));
      }
    }
  }

  const ClusterState* state_;
  const NumaMatchArgs* args_; ///< of the plugin, which outlives its runs
  NumaPod pod_;
  std::set<std::string, std::less<>> imagined_; ///< pods placed in what-ifs of this cycle
  mutable ZoneRoom room_;                       ///< scratch: keeps its memory from node to node
};

class NodeResourceTopologyMatch final : public Plugin {
 public:
  explicit NodeResourceTopologyMatch(NumaMatchArgs args) : args_(std::move(args)) {}

  std::string_view name() const override { return kNodeResourceTopologyMatch; }
  Points points() const override {
    return Point::Filter | Point::Score | static_cast<Points>(Point::Reserve);
  }

  std::vector<EventInterest> events() const override {
    return {{.resource = EventResource::AssignedPod, .action = actions::kDelete},
            {.resource = EventResource::Node, .action = actions::kAdd | actions::kNodeAllocatable},
            {.resource = EventResource::NodeResourceTopology,
             .action = actions::kAdd | actions::kUpdate | actions::kDelete}};
  }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    return {.status = {}, .run = std::make_unique<NumaRun>(*pod, state, args_), .nodes = {}};
  }

 private:
  NumaMatchArgs args_;
};

} // namespace

std::unique_ptr<Plugin> make_node_resource_topology_match(NumaMatchArgs args) {
  return std::make_unique<NodeResourceTopologyMatch>(std::move(args));
}

} // namespace berth::sched
