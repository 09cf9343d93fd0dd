// What is reported of a node beside its Node object, in the scheduler's terms: NUMA zones
// (NodeResourceTopology) and load (NodeMetrics). Part of ClusterState; a new report counts as a
// change of the node.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/model/node_report.h"
#include "berth/sched/ids.h"

namespace berth::sched {

/// Amounts by resource; one that is not listed is not known, which differs from 0.
using KnownAmounts = std::vector<std::pair<ResourceId, std::int64_t>>; // sorted by id
/// Null if not listed. O(log resources).
const std::int64_t* find_amount(const KnownAmounts& amounts, ResourceId id);

/// A NUMA node: a zone of type "Node" named "node-<id>".
struct NumaZone {
  int id = 0; ///< 0..63
  KnownAmounts available;
  std::map<int, std::int64_t> costs; ///< distance, by id of the other zone
};

enum class NumaScope { Container, Pod };

/// Which pods a report's fingerprint is of.
enum class FingerprintOf { AllPods, PodsWithExclusiveResources };

/// A NodeResourceTopology. Attributes topologyManagerPolicy and topologyManagerScope go before the
/// deprecated topologyPolicies. Source: scheduler-plugins pkg/noderesourcetopology.
struct NumaReport {
  bool single_numa_node = false; ///< topologyManagerPolicy is "single-numa-node"
  NumaScope scope = NumaScope::Container;
  std::vector<NumaZone> zones; ///< sorted by id
  std::string fingerprint;     ///< of the pods it accounts for; "": not said
  FingerprintOf fingerprint_of = FingerprintOf::AllPods;
};
NumaReport numa_report(const model::NodeResourceTopology& object, ResourceNames& names);

/// Utilisation in percent of the node.
struct Utilisation {
  double average = 0;
  double deviation = 0; ///< standard deviation
};
/// What load-watcher tells scheduler-plugins: AVG, else the latest value; none: not measured.
struct NodeLoad {
  std::optional<Utilisation> cpu;
  std::optional<Utilisation> memory;
  std::optional<Utilisation> gpu;
  std::optional<TimePoint> until; ///< end of the window measured
};
/// Of what is used, `capacity` is the whole. Without it only what is written in percent counts.
NodeLoad node_load(const model::NodeMetrics& object, const model::ResourceList& capacity);

/// All reports of one node.
struct NodeReports {
  std::shared_ptr<const NumaReport> numa; ///< the latest
  /// The latest that is known to account for all pods that were on the node: the first one, then
  /// each whose fingerprint matched.
  std::shared_ptr<const NumaReport> settled_numa;
  std::vector<std::string> settled_pods; ///< uids of the pods that `settled_numa` accounts for
  std::shared_ptr<const model::NodeMetrics> metrics;
  NodeLoad load; ///< of `metrics`
};

} // namespace berth::sched
