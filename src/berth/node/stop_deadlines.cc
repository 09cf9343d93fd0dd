#include "berth/node/stop_deadlines.h"

#include <algorithm>

#include "berth/node/pod_actions.h"

namespace berth::node {

constexpr Duration kSidecarGrace = Duration::seconds(30);

std::vector<StopOrder> StopDeadlines::orders(const PodView& view, Duration grace, TimePoint now) {
  std::vector<StopOrder> orders;
  for (const std::size_t index : next_stops(view)) {
    const ContainerView& each = view.containers[index];
    // A sidecar of a pod that ended by itself has its own time; one of a deleted pod what is left.
    const Duration limit = each.role == Role::Sidecar ? std::min(grace, kSidecarGrace) : grace;
    const auto [asked, first] = kill_at_.emplace(each.current->id, now + limit);
    if (!first && asked->second <= now + limit) {
      continue;
    }
    asked->second = now + limit;
    orders.push_back({each.current->id, each.spec->name, limit, first});
  }
  return orders;
}

} // namespace berth::node
