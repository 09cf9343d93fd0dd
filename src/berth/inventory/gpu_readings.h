// What a GPU does now, in the driver's numbers. What it does not say is not told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace berth::inventory {

/// A MIG device's part of the memory.
struct MigReading {
  std::string uuid;
  std::string profile;
  int gpu_instance = 0;
  std::optional<std::int64_t> used_bytes;
  std::optional<std::int64_t> free_bytes;
};

struct GpuReadings {
  using Number = std::optional<std::int64_t>;
  Number percent; ///< of the time that it computed; not of one that is cut into instances
  Number memory_copy_percent; ///< of the time that its memory was read or written
  Number encoder_percent;
  Number decoder_percent;
  Number memory_used_bytes;
  Number memory_free_bytes;
  Number sm_clock_mhz;
  Number memory_clock_mhz;
  Number celsius;
  Number memory_celsius;
  Number milliwatts;
  Number energy_mj; ///< since the driver was loaded
  Number pcie_replays;
  Number ecc_single_volatile;  ///< corrected errors since the driver was loaded
  Number ecc_double_volatile;  ///< uncorrected ones
  Number ecc_single_aggregate; ///< of all its life
  Number ecc_double_aggregate;
  Number corrected_rows; ///< of memory that were replaced
  Number uncorrected_rows;
  Number row_failure;        ///< 1: no row was left to replace one
  Number nvlink_flit_errors; ///< of all active links together
  Number nvlink_data_errors;
  Number nvlink_replays;
  Number nvlink_recoveries;
  Number last_xid;                   ///< that the driver told since this process began; 0: none
  std::vector<MigReading> instances; ///< while it is cut
};

} // namespace berth::inventory
