// What a GPU does now, asked of the driver's library call by call.
#pragma once

#include <vector>

#include "berth/inventory/facts.h"
#include "berth/inventory/gpu_readings.h"
#include "berth/inventory/nvml_library.h"

namespace berth::inventory::nvml {

/// Each call that the library refuses, or does not have, leaves out what it would have told. `mig`
/// are the GPU's MIG devices now. A few dozen calls.
GpuReadings read_usage(const Library& library, Device device, const std::vector<MigDevice>& mig);

} // namespace berth::inventory::nvml
