#include "berth/controllers/node/eviction_time.h"

#include <algorithm>

namespace berth::controllers {
namespace {

/// When the pod came to its node; the epoch if nobody has said.
TimePoint bound_at(const model::Pod& pod) {
  const model::Condition* scheduled = pod.status.condition("PodScheduled");
  if (scheduled != nullptr && scheduled->status == "True" && scheduled->last_transition_time) {
    return *scheduled->last_transition_time;
  }
  return pod.meta.creation_timestamp.value_or(TimePoint());
}

} // namespace

std::optional<TimePoint> eviction_time(const model::Pod& pod, const model::Node& node) {
  const TimePoint bound = bound_at(pod);
  std::optional<TimePoint> earliest;
  for (const model::Taint& taint : node.taints) {
    if (taint.effect != "NoExecute") {
      continue;
    }
    // A taint written by hand has no time; the pod is then judged from its binding.
    const TimePoint from = std::max(bound, taint.time_added.value_or(bound));
    const auto used = std::ranges::find_if(pod.spec.tolerations, [&](const model::Toleration& t) {
      return model::tolerates(t, taint);
    });
    if (used == pod.spec.tolerations.end()) {
      return from;
    }
    if (used->toleration_seconds) {
      const TimePoint due =
          from + Duration::seconds(std::max<std::int64_t>(0, *used->toleration_seconds));
      earliest = std::min(earliest.value_or(due), due);
    }
  }
  return earliest;
}

} // namespace berth::controllers
