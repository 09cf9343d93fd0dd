#include "berth/sched/plugins/node_name.h"

namespace berth::sched {
namespace {

class NodeNameRun final : public Run {
 public:
  explicit NodeNameRun(std::optional<NodeId> wanted) : wanted_(wanted) {}

  Reach reach() const override { return Reach::Node; }

  Verdict filter(NodeId node) const override {
    return wanted_ == node ? Verdict::feasible() : Verdict::unresolvable();
  }
  std::vector<std::string> reasons(NodeId, Verdict) const override {
    return {std::string(kReasonNodeName)};
  }

 private:
  std::optional<NodeId> wanted_;
};

class NodeName final : public Plugin {
 public:
  std::string_view name() const override { return kNodeName; }
  Points points() const override { return static_cast<Points>(Point::Filter); }

  std::vector<EventInterest> events() const override {
    return {{.resource = EventResource::Node, .action = actions::kAdd}};
  }

  Hint hint(const PodInfo& pod, const ClusterEvent& event) const override {
    return event.new_node && event.new_node->name() == pod.pod->spec.node_name ? Hint::Queue
                                                                               : Hint::Skip;
  }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    const auto& wanted = pod->pod->spec.node_name;
    if (wanted.empty()) {
      return {.status = Status::skip(), .run = nullptr, .nodes = {}};
    }
    return {
        .status = {}, .run = std::make_unique<NodeNameRun>(state.find_node(wanted)), .nodes = {}};
  }
};

} // namespace

std::unique_ptr<Plugin> make_node_name() {
  return std::make_unique<NodeName>();
}

} // namespace berth::sched
