// NodeResourceTopologyMatch (Filter, Score, Reserve): places a pod where the kubelet's topology
// manager can align it, by the NUMA zones that NodeResourceTopology objects
// (topology.node.k8s.io/v1alpha2) report. The rules of zones and scores are in numa_fit.h. Source:
// scheduler-plugins pkg/noderesourcetopology (spec 12).
//
// Filter acts on nodes with a report whose policy is single-numa-node; nodes without one pass, and
// so do BestEffort pods that ask for no device. Score: pods that are not Guaranteed get 100
// everywhere; nodes without a report get 0. Neither is normalised.
//
// Which numbers count:
//   cacheResyncPeriodSeconds 0 (default)  the latest report as it is
//   cacheResyncPeriodSeconds > 0          "over-reserve": the last report that is known to account
//       for every pod on its node, less the requests of all pods that came since, in every zone,
//       since it is not known in which they are. A later report counts once its pod fingerprint
//       matches the pods that are there. Checked when a report or a pod changes, not by the clock:
//       the period itself makes no difference.
//   discardReservedNodes                  the latest report; a node is out while a pod is on its
//   way
//       to it ("invalid node topology data")
// cache.foreignPodsDetect, cache.resyncMethod and cache.informerMode are checked and make no
// difference: pods of other schedulers are known and counted as all others, and a report says
// itself of which pods its fingerprint is.
//
// State: the node, its reports, the pods on it. Wakes for deleted pods, new or grown nodes, and
// changed reports.
#pragma once

#include <memory>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/sched/numa_fit.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kNodeResourceTopologyMatch = "NodeResourceTopologyMatch";
inline constexpr std::string_view kReasonNumaPod = "cannot align pod";
inline constexpr std::string_view kReasonNumaContainer = "cannot align container";
inline constexpr std::string_view kReasonNumaInitContainer = "cannot align init container";
inline constexpr std::string_view kReasonNumaStale = "invalid node topology data";

struct NumaMatchArgs {
  NumaScoring scoring;
  bool over_reserve = false;
  bool discard_reserved_nodes = false;
};
/// As KubeSchedulerConfiguration writes NodeResourceTopologyMatchArgs. Errors name the field.
Result<NumaMatchArgs> parse_numa_match_args(const boost::json::value& args);

std::unique_ptr<Plugin> make_node_resource_topology_match(NumaMatchArgs args);

} // namespace berth::sched
