// What a GPU's driver tells of it beyond its load: for who reads it (inventory/) and who shows it
// (server/).
#pragma once

#include <cstdint>
#include <optional>

namespace berth::model {

/// None: the driver does not tell.
struct GpuReadings {
  using Number = std::optional<std::int64_t>;
  Number memory_free_bytes;
  Number memory_reserved_bytes; ///< by the driver for itself: neither free nor used
  Number memory_copy_percent;   ///< of the time that its memory was read or written
  Number encoder_percent;
  Number decoder_percent;
  Number sm_clock_mhz;
  Number memory_clock_mhz;
  Number celsius;
  Number memory_celsius;
  Number milliwatts;
  Number energy_mj; ///< since the driver was loaded
  Number pcie_replays;
  Number pcie_sent; ///< bytes a second, by the GPU
  Number pcie_received;
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
  Number nvlink_kib;      ///< of data, both ways, over all links, since the driver was loaded
  Number vgpu_license;    ///< 0: it has none, and needs none
  Number tensor_permille; ///< of the time that its tensor cores computed
  Number dram_permille;   ///< of the time that its memory was read or written, as DCGM measures it
};

} // namespace berth::model
