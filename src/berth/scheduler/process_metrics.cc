// What is counted when somebody looks: the queue, the state and the bindings under way.
#include <algorithm>

#include "berth/scheduler/process.h"

namespace berth::scheduler {

std::size_t Scheduler::Process::profile_of(const sched::PodInfo& pod) const {
  const Desk* desk = &desk_of(pod);
  const auto it = std::ranges::find(desks_, desk, [](const auto& known) { return known.get(); });
  return static_cast<std::size_t>(it - desks_.begin());
}

std::string Scheduler::Process::metrics_text() const {
  MetricGauges gauges{.depth = queue_.depth(),
                      .moves = &queue_.moves(),
                      .unschedulable = {},
                      .binding = binding_,
                      .nodes = state_.nodes().size(),
                      .pods = state_.pod_count(),
                      .assumed = state_.assumed_count()};
  queue_.for_each_waiting([&](const sched::QueuedPod& pod) {
    const std::string& profile = desk_of(*pod.pod).framework.scheduler_name();
    const auto count = [&](const std::string& plugin) {
      ++gauges.unschedulable[{plugin, profile}];
    };
    std::ranges::for_each(pod.unschedulable_plugins, count);
    std::ranges::for_each(pod.pending_plugins, count);
    if (!pod.gating_plugin.empty()) {
      count(pod.gating_plugin);
    }
  });
  return metrics_.text(gauges);
}

} // namespace berth::scheduler
