#include "berth/sched/plugins/node_unschedulable.h"

namespace berth::sched {
namespace {

bool tolerates_cordon(const PodInfo& pod) {
  const model::Taint cordon{.key = "node.kubernetes.io/unschedulable",
                            .value = "",
                            .effect = "NoSchedule",
                            .time_added = {}};
  return model::tolerates(pod.pod->spec.tolerations, cordon);
}

class CordonRun final : public Run {
 public:
  explicit CordonRun(const ClusterState& state) : state_(&state) {}

  Reach reach() const override { return Reach::Node; }

  Verdict filter(NodeId node) const override {
    return state_->node(node).unschedulable ? Verdict::unresolvable() : Verdict::feasible();
  }
  std::vector<std::string> reasons(NodeId, Verdict) const override {
    return {std::string(kReasonUnschedulable)};
  }

 private:
  const ClusterState* state_;
};

class NodeUnschedulable final : public Plugin {
 public:
  std::string_view name() const override { return kNodeUnschedulable; }
  Points points() const override { return static_cast<Points>(Point::Filter); }

  std::vector<EventInterest> events() const override {
    return {{.resource = EventResource::Node, .action = actions::kAdd | actions::kNodeTaint},
            {.resource = EventResource::UnscheduledPod, .action = actions::kPodToleration}};
  }

  Hint hint(const PodInfo& pod, const ClusterEvent& event) const override {
    if (event.resource == EventResource::UnscheduledPod) {
      const bool own = event.new_pod && event.new_pod->uid == pod.uid;
      return own && tolerates_cordon(*event.new_pod) ? Hint::Queue : Hint::Skip;
    }
    return event.new_node && !event.new_node->unschedulable ? Hint::Queue : Hint::Skip;
  }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    if (tolerates_cordon(*pod)) {
      return {.status = Status::skip(), .run = nullptr, .nodes = {}};
    }
    return {.status = {}, .run = std::make_unique<CordonRun>(state), .nodes = {}};
  }
};

} // namespace

std::unique_ptr<Plugin> make_node_unschedulable() {
  return std::make_unique<NodeUnschedulable>();
}

} // namespace berth::sched
