#include "berth/sched/plugins/node_ports.h"

#include <algorithm>

namespace berth::sched {
namespace {

bool clash(const std::vector<HostPort>& used, const std::vector<HostPort>& wanted) {
  return std::ranges::any_of(wanted, [&](const HostPort& port) { return clashes(used, port); });
}

class PortsRun final : public Run {
 public:
  PortsRun(PodPtr pod, const ClusterState& state) : pod_(std::move(pod)), state_(&state) {}

  Reach reach() const override { return Reach::Node; }

  Verdict filter(NodeId node) const override {
    const auto& used = state_->node(node).used_ports;
    return !used.empty() && clash(used, pod_->host_ports) ? Verdict::unschedulable()
                                                          : Verdict::feasible();
  }
  std::vector<std::string> reasons(NodeId, Verdict) const override {
    return {std::string(kReasonPorts)};
  }

 private:
  PodPtr pod_;
  const ClusterState* state_;
};

class NodePorts final : public Plugin {
 public:
  std::string_view name() const override { return kNodePorts; }
  Points points() const override { return static_cast<Points>(Point::Filter); }

  std::vector<EventInterest> events() const override {
    return {{.resource = EventResource::AssignedPod, .action = actions::kDelete},
            {.resource = EventResource::Node, .action = actions::kAdd}};
  }

  Hint hint(const PodInfo& pod, const ClusterEvent& event) const override {
    if (event.resource == EventResource::Node) {
      return Hint::Queue;
    }
    return event.old_pod && clash(event.old_pod->host_ports, pod.host_ports) ? Hint::Queue
                                                                             : Hint::Skip;
  }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    if (pod->host_ports.empty()) {
      return {.status = Status::skip(), .run = nullptr, .nodes = {}};
    }
    return {.status = {}, .run = std::make_unique<PortsRun>(pod, state), .nodes = {}};
  }
};

} // namespace

std::unique_ptr<Plugin> make_node_ports() {
  return std::make_unique<NodePorts>();
}

} // namespace berth::sched
