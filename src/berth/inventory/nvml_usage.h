// What a GPU does now, asked of the driver's library call by call.
#pragma once

#include <vector>

#include "berth/inventory/facts.h"
#include "berth/inventory/gpu_readings.h"
#include "berth/inventory/nvml_library.h"

namespace berth::inventory::nvml {

/// Each call that the library refuses, or does not have, leaves out what it would have told. `mig`
/// are the GPU's MIG devices now. Rates are PcieMeter's to tell. A few dozen calls.
GpuReadings read_usage(const Library& library, Device device, const std::vector<MigDevice>& mig);

/// What goes over a GPU's PCIe link, from the driver's counters: the bytes a second since it was
/// looked at before. (The driver's own rate takes 20 ms to ask for.) Of looks that are less than a
/// tenth of a second apart the later says what the earlier did.
class PcieMeter {
 public:
  /// Nothing at the first look, and where the driver does not count.
  void look(const Library& library, Device device, GpuReadings& to);

 private:
  struct Counter {
    std::int64_t at_us = 0; ///< 0: not looked at yet
    std::int64_t bytes = 0;
    GpuReadings::Number rate;
  };
  static void step(Counter& counter, const Library& library, Device device, unsigned field);
  Counter sent_;
  Counter received_;
};

} // namespace berth::inventory::nvml
