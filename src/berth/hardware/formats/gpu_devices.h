// GPUs by their PCI device id: what a dump that names the id alone says of the model. Ids as in
// NVIDIA's driver (supported GPU list); memory as the driver reports it.
#pragma once

#include <cstdint>
#include <string_view>

#include "berth/hardware/platform.h"

namespace berth::hardware {

struct GpuDevice {
  int pci_device = 0;       ///< 0x2330
  std::string_view product; ///< as in nvidia.com/gpu.product
  std::int64_t memory_mib = 0;
  int compute = 0;         ///< compute capability as NCCL's sm: 90
  std::string_view family; ///< "hopper"
  bool mig_capable = false;
};

/// nullptr if the id is not known.
const GpuDevice* gpu_device(int pci_device);
/// The same by the product's name.
const GpuDevice* gpu_device(std::string_view product);

/// Makes the model that GPU's: what has nothing to do with how it is connected.
void set_gpu(GpuModel& model, const GpuDevice& device);

} // namespace berth::hardware
