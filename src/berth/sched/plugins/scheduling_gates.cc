#include "berth/sched/plugins/scheduling_gates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::sched {
namespace {

class SchedulingGates final : public Plugin {
 public:
  std::string_view name() const override { return kSchedulingGates; }
  Points points() const override { return static_cast<Points>(Point::PreEnqueue); }

  std::vector<EventInterest> events() const override {
    return {{.resource = EventResource::UnscheduledPod, .action = actions::kPodGatesEliminated}};
  }

  Hint hint(const PodInfo& pod, const ClusterEvent& event) const override {
    return event.new_pod && event.new_pod->uid == pod.uid ? Hint::Queue : Hint::Skip;
  }

  Status pre_enqueue(const PodInfo& pod) const override {
    const auto& gates = pod.pod->spec.scheduling_gates;
    if (gates.empty()) {
      return Status::success();
    }
    return Status::of(StatusCode::Unresolvable,
                      fmt::format("{} [{}]", kReasonGated, fmt::join(gates, " ")));
  }
};

} // namespace

std::unique_ptr<Plugin> make_scheduling_gates() {
  return std::make_unique<SchedulingGates>();
}

} // namespace berth::sched
