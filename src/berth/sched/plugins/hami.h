// Hami (Filter, Score, Reserve): vGPUs as HAMi's scheduler gives them (model/hami.h), for profiles
// that take the resources over from stock scheduling: no profile has it by default, and
// NodeResourcesFit has to be told to ignore nvidia.com/gpu, gpumem, gpumem-percentage and gpucores
// (docs/hami.md).
//
// A GPU can hold a container if it is healthy, of a type, UUID and mode that the pod takes, shared
// by fewer containers than it may be, and has that much memory and cores left; all cores are had
// alone, and where no cores are left nobody gets in. Containers are served in order, each with
// distinct GPUs (of one NUMA node with nvidia.com/numa-bind). Per GPU and node the score is the sum
// of the shares of containers, cores and memory in use. Binpack takes the GPU with the highest, of
// equals that of the lowest NUMA node; spread the lowest, of the highest; then the lowest index.
// With numa-bind NUMA nodes come first. Several policies of GPUs, or "numa" (the highest node
// first), count one after the other, of equals the highest index. "topology-aware" takes of the
// GPUs that can hold a container the set that choose_gpus takes, where the machine is known. Nodes
// are binpacked, GPUs spread, unless hami.io/{node,gpu}-scheduler-policy say otherwise; "mutex"
// among a pod's policies keeps it to GPUs that nobody has a part of when it comes. Source: HAMi
// 2.10 pkg/scheduler/policy, pkg/device/nvidia; there percentages of memory do not count in a GPU's
// score, here they do, and a set of GPUs is chosen by sums of pairs that its device plugin writes.
// Dynamic MIG (mode mig) is not given.
//
// A node that HAMi's scheduler has locked for another pod takes none until that pod has what it was
// bound for: as long as the pod that hami.io/mutex.lock names is there and "allocating".
//
// What ResourceQuotas leave of memory and cores to the pod's namespace (vgpu_quotas.h), after all
// its placed pods, is not exceeded either.
//
// State: node-dynamic, quotas and, where there are any, all pods of the namespace; and what was
// reserved and is not seen written yet, which the plugin keeps. Events: assigned pod deleted, node
// added or its annotations changed, quota changed.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kHami = "Hami";
inline constexpr std::string_view kReasonHamiMissing =
    "node(s) had no GPUs that HAMi's device plugin registered";
inline constexpr std::string_view kReasonHamiTaken =
    "node(s) didn't have vGPUs with enough memory and cores left";
inline constexpr std::string_view kReasonHamiQuota =
    "node(s) had no vGPUs within what the namespace's quota leaves";
inline constexpr std::string_view kReasonHamiLocked =
    "node(s) were locked while HAMi's device plugin gives another pod its vGPUs";
inline constexpr std::string_view kReasonHamiChoice =
    "node(s) had no GPU of a requested type, UUID or mode";

enum class HamiPolicy { Binpack, Spread };

/// Which GPUs of a node come first: "binpack", "spread", "numa", "mutex", "topology-aware", or
/// several with commas.
struct HamiGpuPolicy {
  enum class Key { Binpack, Spread, Numa };
  std::vector<Key> keys;    ///< in the order in which they count; none: spread
  bool chained = false;     ///< several were named, or "numa"
  bool unused_only = false; ///< mutex
  bool topology = false;    ///< topology-aware
};

struct HamiArgs {
  HamiPolicy nodes = HamiPolicy::Binpack;
  HamiGpuPolicy gpus;
};
/// {"nodeSchedulerPolicy": "binpack" | "spread", "gpuSchedulerPolicy": see HamiGpuPolicy}; null or
/// {}: HAMi's defaults. Errors name the field.
Result<HamiArgs> parse_hami_args(const boost::json::value& args);

std::unique_ptr<Plugin> make_hami(HamiArgs args);

} // namespace berth::sched
