// A machine drawn as a tree, as its devices hang together: sockets, NUMA nodes, host bridges, PCIe
// switches, GPUs and NICs, and below the tree the NVLinks between the GPUs.
#pragma once

#include <string>

#include "berth/hardware/platform.h"

namespace berth::hardware {

/// Lines of UTF-8, none longer than about 80 columns. O(devices).
std::string picture(const Platform& platform);

} // namespace berth::hardware
