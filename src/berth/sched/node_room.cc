#include "berth/sched/node_room.h"

#include <algorithm>

#include "berth/sched/cluster_state.h"
#include "berth/sched/open_gpus.h"

namespace berth::sched {
namespace {

/// `gain(share)` summed over the pods that `pod` may preempt.
template <class Gain>
std::int64_t by_preemption(const NodeRoom& room, const PodInfo& pod, Gain gain) {
  std::int64_t sum = 0;
  if (pod.pod->spec.preemption_policy != "Never") {
    for (const NodeRoom::Share& share : room.shares) {
      if (share.priority >= pod.priority) {
        break;
      }
      sum += gain(share);
    }
  }
  return sum;
}

} // namespace

bool NodeRoom::could_hold(const PodInfo& pod) const {
  const auto places = [](const Share& share) { return share.pods; };
  return this->pods + by_preemption(*this, pod, places) > 0 &&
         std::ranges::all_of(pod.requests, [&](const auto& request) {
           const auto& [resource, amount] = request;
           const std::int64_t now = free.get(resource);
           return amount <= now ||
                  amount <= now + by_preemption(*this, pod, [&](const Share& share) {
                              return share.held.get(resource);
                            });
         });
}

bool NodeRoom::could_give_gpus(const PodInfo& pod) const {
  return !open_gpus || pod.gpus <= *open_gpus + by_preemption(*this, pod, [](const Share& share) {
                         return share.held.get(kGpu) + share.part_gpus;
                       });
}

NodeRoom room_on(const ClusterState& state, NodeId node) {
  const NodeInfo& info = state.node(node);
  NodeRoom room{.node = node,
                .free = info.allocatable,
                .pods = info.allowed_pods - static_cast<std::int64_t>(info.pods.size()),
                .open_gpus = {},
                .shares = {}};
  if (info.gpus.all != 0) {
    room.open_gpus = open_gpu_count(info.gpus);
  }
  for (std::uint32_t i = 0; i < kInlineResources; ++i) {
    room.free.add(ResourceId(i), -info.requested.common()[i]);
  }
  for (const auto& [resource, amount] : info.requested.others()) {
    room.free.add(resource, -amount);
  }
  for (const PodSlot slot : info.pods) {
    const PodInfo& pod = *state.placed(slot).pod;
    const auto at =
        std::ranges::lower_bound(room.shares, pod.priority, {}, &NodeRoom::Share::priority);
    const auto share =
        at != room.shares.end() && at->priority == pod.priority
            ? at
            : room.shares.insert(at, {.priority = pod.priority, .held = {}, .pods = 0});
    ++share->pods;
    share->part_gpus += pod.share == nullptr ? 0 : pod.share->gpus;
    for (const auto& [resource, amount] : pod.requests) {
      share->held.add(resource, amount);
    }
  }
  return room;
}

} // namespace berth::sched
