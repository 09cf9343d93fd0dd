// Kinds of the plugins of scheduler-plugins, by name: beside those of request.h, which every
// cluster has.
#pragma once

#include "berth/store/request.h"

namespace berth::store {

inline const GroupKind kElasticQuotas{"scheduling.x-k8s.io", "ElasticQuota"};
inline const GroupKind kNodeResourceTopologies{"topology.node.k8s.io", "NodeResourceTopology"};
inline const GroupKind kNodeMetrics{"metrics.k8s.io", "NodeMetrics"};

} // namespace berth::store
