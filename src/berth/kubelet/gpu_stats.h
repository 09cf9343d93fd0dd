// What a node's GPUs do, as its agent tells the API server at /stats/gpus. No kubelet has this
// page.
#pragma once

#include <string_view>
#include <vector>

#include <boost/json/fwd.hpp>

#include "berth/api/json.h"
#include "berth/server/nodes.h"

namespace berth::kubelet {

boost::json::object gpu_stats(const std::vector<server::GpuUsage>& gpus);
/// What is of another form is left out.
std::vector<server::GpuUsage> read_gpu_stats(const api::json::value& document);

} // namespace berth::kubelet
