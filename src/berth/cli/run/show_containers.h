// --show-container: exactly what a pod's containers see, as text.
#pragma once

#include <string>
#include <vector>

#include "berth/report/run_report.h"
#include "berth/report/table.h"
#include "berth/runtime/facts.h"

namespace berth::cli {

/// "CONTAINERS OF  ml/trainer-0 on dgx-h100-1, GPUs 0-7", then for each its environment, device
/// nodes, mounts and CDI devices.
std::string render_containers(const report::PodLine& pod,
                              const std::vector<runtime::ContainerFacts>& containers,
                              const report::TableStyle& style);

} // namespace berth::cli
