// What a GPU model draws and how fast it clocks, from its data sheet: what a simulated GPU shows of
// itself while it computes.
#pragma once

#include <string_view>

namespace berth::hardware {

struct GpuLimits {
  int idle_watts = 0;
  int most_watts = 0; ///< its power limit as it is sold
  int sm_mhz = 0;     ///< the highest
  int memory_mhz = 0;
  bool stacked_memory = false; ///< HBM, whose temperature drivers tell

  bool operator==(const GpuLimits&) const = default;
};

/// By nvidia.com/gpu.product; of a product that is not known, those of a middling card.
GpuLimits gpu_limits(std::string_view product);

} // namespace berth::hardware
