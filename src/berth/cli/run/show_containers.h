// --show-container: exactly what a pod's containers see, as text.
#pragma once

#include <string>
#include <vector>

#include "berth/report/table.h"
#include "berth/runtime/facts.h"

namespace berth::cli {

/// "CONTAINERS OF ml/trainer-0", then for each its environment, device nodes, mounts and CDI
/// devices.
std::string render_containers(const std::string& pod,
                              const std::vector<runtime::ContainerFacts>& containers,
                              const report::TableStyle& style);

} // namespace berth::cli
