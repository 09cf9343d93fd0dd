// Does a pod fit the NUMA zones of a node, and how well? Pure rules over what a
// NodeResourceTopology says is free in each zone. Source: scheduler-plugins
// pkg/noderesourcetopology (filter.go, score.go, least_numa.go).
//
// A zone suits a container if it has enough of everything asked. cpu, memory and hugepages of pods
// that are not Guaranteed fit anywhere, since the kubelet does not pin them. A resource that no
// zone lists is no matter of zones if it is an extended resource or ephemeral-storage; cpu or
// memory that no zone lists fit nowhere. Of the zones that suit, the kubelet takes the one with the
// lowest id.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "berth/sched/node_reports.h"
#include "berth/sched/pod_info.h"
#include "berth/sched/resources.h"

namespace berth::sched {

/// An amount asked for, more than 0.
struct NumaAsk {
  ResourceId resource;
  std::int64_t amount = 0;
  bool pinned = false;     ///< cpu, memory, hugepages: given to Guaranteed pods from one zone
  bool host_level = false; ///< may be on no zone at all
};
using NumaAsks = std::vector<NumaAsk>;

/// What a pod asks of zones.
struct NumaPod {
  struct Container {
    NumaAsks asks;
    bool init = false;  ///< an init container, sidecars included
    bool keeps = false; ///< runs on beside those after it: sidecars and app containers
  };
  bool guaranteed = false;
  bool needs_nothing = false;        ///< BestEffort and without devices: fits whatever zones say
  std::vector<Container> containers; ///< init containers first, in order
  NumaAsks whole;                    ///< effective request, without overhead
};
NumaPod numa_pod(const model::PodSpec& spec, const ResourceNames& names);

/// What is free in each zone, parallel to NumaReport::zones.
using ZoneRoom = std::vector<KnownAmounts>;

enum class NumaMisfit : std::uint8_t { None, Pod, Container, InitContainer };
/// For a node with policy single-numa-node. Takes from `room` what containers keep as it goes.
/// O(containers * resources * zones), no allocation.
NumaMisfit numa_misfit(const NumaPod& pod, const NumaReport& report, const Resources& allocatable,
                       ZoneRoom& room);

enum class NumaStrategy { LeastAllocated, MostAllocated, BalancedAllocation, LeastNumaNodes };
struct NumaScoring {
  NumaStrategy strategy = NumaStrategy::LeastAllocated;
  std::map<std::string, std::int64_t, std::less<>> weights = {{"cpu", 1}, {"memory", 1}};
};

/// 0..100, for a Guaranteed pod. Cores count whole, rounded up, as Quantity.Value() does.
///   LeastAllocated      mean over the resources asked, by weight (1 where none is given), of
///                       100 * (free - asked) / free; MostAllocated: 100 * asked / free
///   BalancedAllocation  100 * (1 - variance of asked / free)
///     each of them: the least over the zones, of those that do not say 0; scope container: the
///     mean over the containers; 0 unless the policy is single-numa-node
///   LeastNumaNodes      100 - 12 * zones needed (most of any container), + 6 if they are as close
///                       together as that many zones can be; any policy. Nodes of more than
///                       kMostZonesCombined zones get 0: combinations are tried one by one.
/// Takes from `room` as it goes.
inline constexpr std::size_t kMostZonesCombined = 16;
std::int64_t numa_score(const NumaPod& pod, const NumaReport& report, const NumaScoring& scoring,
                        const ResourceNames& names, ZoneRoom& room);

} // namespace berth::sched
