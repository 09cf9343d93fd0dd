// A measurement in the words of a kubelet: the document of /stats/summary, which is read back from
// agents in other processes, and the page of /metrics/resource, which metrics-server reads. Source:
// kubelet pkg/apis/stats/v1alpha1/types.go, pkg/kubelet/metrics/collectors/resource_metrics.go.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

#include "berth/api/json.h"
#include "berth/kubelet/usage_meter.h"
#include "berth/server/nodes.h"

namespace berth::kubelet {

boost::json::object stats_summary(std::string_view node, const Measurement& measurement);
/// Prometheus' text format; samples bear the time when they were measured.
std::string resource_metrics(const Measurement& measurement);

/// Without GPUs.
server::NodeUsage node_usage(const Measurement& measurement);
/// The same of a document that a kubelet has made; its window is not told and taken for 15 s. Error
/// Invalid: it is no summary.
Result<server::NodeUsage> read_stats_summary(const api::json::value& document);

} // namespace berth::kubelet
