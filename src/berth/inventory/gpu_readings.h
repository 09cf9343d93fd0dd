// What a GPU does now, in the driver's numbers. What it does not say is not told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/inventory/facts.h"
#include "berth/model/gpu_readings.h"

namespace berth::inventory {

/// A MIG device's part of the memory.
struct MigReading {
  std::string uuid;
  std::string profile;
  int gpu_instance = 0;
  std::optional<std::int64_t> used_bytes;
  std::optional<std::int64_t> free_bytes;
};

struct GpuReadings : model::GpuReadings {
  Number percent; ///< of the time that it computed; not of one that is cut into instances
  Number memory_used_bytes;
  Number last_xid;                   ///< that the driver told since this process began; 0: none
  std::vector<MigReading> instances; ///< while it is cut
  std::vector<GpuProcess> processes; ///< that compute on it, as far as the driver tells
};

} // namespace berth::inventory
