// The GPUs of all nodes in the DCGM exporter's form: the numbers that metrics.berth.dev and berth
// top show, as one page to scrape.
#pragma once

#include <map>
#include <string>

#include "berth/api/object.h"
#include "berth/server/nodes.h"
#include "berth/store/registry.h"

namespace berth::server {

/// Pods that have not ended are named, so that no series outlives its pod. O(pods + GPUs).
std::string gpu_page(const store::Registry& registry, const Nodes& nodes);

std::map<std::string, api::Key> pods_by_uid(const store::Registry& registry);

} // namespace berth::server
