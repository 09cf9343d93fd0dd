#include "berth/hardware/discovery/facts.h"

#include <algorithm>

#include <fmt/format.h>

namespace berth::hardware {

namespace {

// What simulated machines run.
constexpr std::string_view kDriver = "580.95.05";
constexpr int kCudaMajor = 13;
constexpr int kCudaMinor = 0;

} // namespace

NodeFacts simulated_facts(const Platform& platform, std::string_view node_name) {
  const GpuModel& model = platform.gpu_model;
  NodeFacts facts{.driver = std::string(kDriver),
                  .cuda_major = kCudaMajor,
                  .cuda_minor = kCudaMinor,
                  .machine = platform.machine,
                  .gpus = {}};
  for (const Gpu& gpu : platform.gpus) {
    std::string name = model.product;
    std::ranges::replace(name, '-', ' ');
    facts.gpus.push_back({.info = {.index = gpu.index,
                                   .uuid = gpu_uuid(node_name, gpu.index),
                                   .pci_bus_id = gpu.pci_bus_id,
                                   .numa = gpu.numa,
                                   .minor = gpu.index,
                                   .memory_mib = model.memory_mib,
                                   .product = model.product},
                          .name = std::move(name),
                          .compute_major = model.compute_major,
                          .compute_minor = model.compute_minor,
                          .family = model.family,
                          .pci_class = 0x030200,
                          .mig_capable = model.mig_capable,
                          .mig = {},
                          .fabric = gpu_clique(platform, node_name),
                          .nvlinks = model.nvlink_links});
  }
  return facts;
}

std::string_view gpu_family(int compute_major, int compute_minor) {
  switch (compute_major) {
  case 3:
    return "kepler";
  case 5:
    return "maxwell";
  case 6:
    return "pascal";
  case 7:
    return compute_minor < 5 ? "volta" : "turing";
  case 8:
    return compute_minor < 9 ? "ampere" : "ada-lovelace";
  case 9:
    return "hopper";
  case 10:
  case 11:
  case 12:
    return "blackwell";
  default:
    return "undefined";
  }
}

std::string mig_profile_name(const MigDevice& device, std::int64_t gpu_memory_bytes) {
  constexpr std::int64_t kMib = 1 << 20;
  constexpr std::int64_t kGib = 1 << 30;
  constexpr std::int64_t kParts = 8;
  std::int64_t gigabytes = (device.memory_mib * kMib + kGib / 2) / kGib;
  if (gpu_memory_bytes > 0) {
    // Eighths of the GPU, rounded up, of its memory in whole GiB, rounded to the nearest.
    const std::int64_t eighths = std::min(
        kParts, (device.memory_mib * kMib * kParts + gpu_memory_bytes - 1) / gpu_memory_bytes);
    const std::int64_t total = (gpu_memory_bytes + kGib - 1) / kGib;
    gigabytes = (eighths * total * 2 + kParts) / (kParts * 2);
  }
  const std::string part = device.compute_slices > 0 && device.compute_slices < device.gpu_slices
                               ? fmt::format("{}c.", device.compute_slices)
                               : "";
  // A one-slice instance has the only OFA engine in the profile with media extensions alone.
  const bool media = device.gpu_slices == 1 && device.ofa_engines > 0;
  return fmt::format("{}{}g.{}gb{}", part, device.gpu_slices, gigabytes, media ? "+me" : "");
}

} // namespace berth::hardware
