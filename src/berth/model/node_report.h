// Typed views of what others than the API server's own components report of a node:
// NodeResourceTopology (topology.node.k8s.io/v1alpha2), the NUMA zones of a node and what is free
// in them, and NodeMetrics (metrics.k8s.io/v1beta1), how busy the node is.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/model/pod.h"

namespace berth::model {

/// Named as its node.
struct NodeResourceTopology {
  struct Resource {
    std::string name;
    api::Quantity capacity;
    api::Quantity allocatable;
    api::Quantity available;
  };
  /// Distance to another zone.
  struct Cost {
    std::string name;
    std::int64_t value = 0;
  };
  struct Zone {
    std::string name;
    std::string type; ///< "Node" for a NUMA node
    std::vector<Cost> costs;
    std::vector<Resource> resources;
  };
  api::ObjectMeta meta;
  std::vector<std::string> topology_policies; ///< deprecated in favour of attributes
  std::map<std::string, std::string, std::less<>> attributes;
  std::vector<Zone> zones;
};

/// Named as its node. `usage` is what metrics-server writes; `metrics` is Berth's own member, in
/// the terms of paypal/load-watcher, for what metrics-server does not measure.
struct NodeMetrics {
  /// A utilisation in percent of the node's capacity.
  struct Metric {
    std::string type; ///< CPU, Memory or GPU
    std::string op;   ///< AVG, STD, Latest; "" is as Latest
    double value = 0;
  };
  api::ObjectMeta meta;
  std::optional<TimePoint> timestamp; ///< end of the window measured
  ResourceList usage;                 ///< amounts in use
  std::vector<Metric> metrics;
};

Result<std::shared_ptr<const NodeResourceTopology>>
decode_node_resource_topology(const api::json::value& document);
Result<std::shared_ptr<const NodeMetrics>> decode_node_metrics(const api::json::value& document);

inline Result<std::shared_ptr<const NodeResourceTopology>>
node_resource_topology_view(const api::Object& o) {
  return o.view<NodeResourceTopology>(&decode_node_resource_topology);
}
inline Result<std::shared_ptr<const NodeMetrics>> node_metrics_view(const api::Object& o) {
  return o.view<NodeMetrics>(&decode_node_metrics);
}

} // namespace berth::model
