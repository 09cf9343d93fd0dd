// The GPUs of all nodes in the DCGM exporter's form: the numbers that metrics.berth.dev and berth
// top show, as one page to scrape.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "berth/api/object.h"
#include "berth/server/gpu_metrics.h"
#include "berth/server/nodes.h"
#include "berth/store/registry.h"

namespace berth::server {

/// Pods that have not ended are named, so that no series outlives its pod. O(pods + GPUs).
std::string gpu_page(const store::Registry& registry, const Nodes& nodes);

/// One machine's GPUs as samples; `pods` by uid are those that have not ended.
GpuSamples gpu_samples(std::string hostname, std::string driver, const std::vector<GpuUsage>& gpus,
                       const std::map<std::string, api::Key>& pods);

std::vector<std::string> node_names(const store::Registry& registry);
std::map<std::string, api::Key> pods_by_uid(const store::Registry& registry);

} // namespace berth::server
