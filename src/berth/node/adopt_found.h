// What containers that an agent finds in the runtime have. They say which devices, CPUs and memory
// they were made with: what a checkpoint forgot, or never learned, is not given away.
#pragma once

#include <map>
#include <string>

#include "berth/node/device_manager.h"
#include "berth/node/pod_view.h"

namespace berth::node {

/// `found`: by pod uid. Those that may run are believed before those that have ended.
void adopt_found(const std::map<std::string, PodRecord>& found, DeviceManager& devices);

} // namespace berth::node
