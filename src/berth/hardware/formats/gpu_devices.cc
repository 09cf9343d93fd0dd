#include "berth/hardware/formats/gpu_devices.h"

#include <algorithm>
#include <iterator>

namespace berth::hardware {

namespace {

constexpr GpuDevice kDevices[] = {{0x1db1, "Tesla-V100-SXM2-16GB", 16'384, 70, "volta", false},
                                  {0x1db5, "Tesla-V100-SXM2-32GB", 32'768, 70, "volta", false},
                                  {0x1eb8, "Tesla-T4", 15'360, 75, "turing", false},
                                  {0x20b0, "NVIDIA-A100-SXM4-40GB", 40'960, 80, "ampere", true},
                                  {0x20b2, "NVIDIA-A100-SXM4-80GB", 81'920, 80, "ampere", true},
                                  {0x20b5, "NVIDIA-A100-80GB-PCIe", 81'920, 80, "ampere", true},
                                  {0x20b7, "NVIDIA-A30", 24'576, 80, "ampere", true},
                                  {0x20f1, "NVIDIA-A100-PCIE-40GB", 40'960, 80, "ampere", true},
                                  {0x2236, "NVIDIA-A10", 23'028, 86, "ampere", false},
                                  {0x2237, "NVIDIA-A10G", 23'028, 86, "ampere", false},
                                  {0x2321, "NVIDIA-H100-NVL", 95'830, 90, "hopper", true},
                                  {0x2324, "NVIDIA-H800", 81'559, 90, "hopper", true},
                                  {0x2329, "NVIDIA-H20", 97'871, 90, "hopper", true},
                                  {0x2330, "NVIDIA-H100-80GB-HBM3", 81'559, 90, "hopper", true},
                                  {0x2331, "NVIDIA-H100-PCIe", 81'559, 90, "hopper", true},
                                  {0x2335, "NVIDIA-H200", 143'771, 90, "hopper", true},
                                  {0x233b, "NVIDIA-H200-NVL", 143'771, 90, "hopper", true},
                                  {0x26b9, "NVIDIA-L40S", 46'068, 89, "ada-lovelace", false},
                                  {0x27b8, "NVIDIA-L4", 23'034, 89, "ada-lovelace", false},
                                  {0x2901, "NVIDIA-B200", 183'359, 100, "blackwell", true},
                                  {0x2941, "NVIDIA-GB200", 189'471, 100, "blackwell", true}};

} // namespace

const GpuDevice* gpu_device(int pci_device) {
  const auto* found = std::ranges::find(kDevices, pci_device, &GpuDevice::pci_device);
  return found == std::end(kDevices) ? nullptr : found;
}

const GpuDevice* gpu_device(std::string_view product) {
  const auto* found = std::ranges::find(kDevices, product, &GpuDevice::product);
  return found == std::end(kDevices) ? nullptr : found;
}

void set_gpu(GpuModel& model, const GpuDevice& device) {
  model.product = device.product;
  model.memory_mib = device.memory_mib;
  model.compute_major = device.compute / 10;
  model.compute_minor = device.compute % 10;
  model.family = device.family;
  model.mig_capable = device.mig_capable;
  model.pci_device = device.pci_device;
}

} // namespace berth::hardware
