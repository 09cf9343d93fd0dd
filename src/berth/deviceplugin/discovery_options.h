// What GPU feature discovery has to know of the device plugin's configuration, so that a node's
// labels say how its GPUs are given.
#pragma once

#include "berth/deviceplugin/config/config.h"
#include "berth/inventory/discovery_labels.h"

namespace berth::deviceplugin {

/// MIG strategy, and how nvidia.com/gpu (or, if that is not shared, the first shared resource) is.
inventory::LabelOptions discovery_options(const Config& config);

} // namespace berth::deviceplugin
