// BidPrice (Score, Reserve): place a pod where it costs the target workload least. Berth's own; on
// the openb workloads it leaves fewer GPUs idle than FGD (docs/gpu-packing.md has the figures).
// Cost of a pod on a node, in milli of GPUs:
//   3   x regret: what the shared GPU loses in worth beyond what the share pays (part_prices.h)
// + 0.7 x growth of stranded GPU: what is left of the node's GPUs beyond what its idle cpu can
// feed, at
//         the target's cpu per GPU
// + 0.3 x growth of the target's fragmentation (fragmentation.h)
// + 1   x the pod's GPUs x how much of that GPU model pods that can use few others will ask for:
// what
//         they want of it over how much of it the cluster has, at most 1
// Costs within 40 milli are alike: then node order decides (for the GPU, the fullest). The best
// node scores 100, every 40 milli more one less. Bid prices are those of revenue management. State:
// node-dynamic, and how many GPUs of each model there are.
#pragma once

#include <memory>
#include <string_view>

#include "berth/sched/fragmentation.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kBidPrice = "BidPrice";

/// Args: parse_target_args (target_workload.h).
std::unique_ptr<Plugin> make_bid_price(TargetWorkload target);

} // namespace berth::sched
