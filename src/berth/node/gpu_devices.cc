#include "berth/node/gpu_devices.h"

#include <algorithm>

namespace berth::node {

std::string_view without_replica(std::string_view id) {
  return id.substr(0, id.find("::"));
}

std::optional<int> GpuDevices::gpu_of(std::string_view id) {
  if (inventory_ == nullptr) {
    return std::nullopt;
  }
  const std::string_view uuid = without_replica(id);
  const auto& gpus = inventory_->gpus();
  if (const auto gpu = std::ranges::find(gpus, uuid, &inventory::GpuInfo::uuid);
      gpu != gpus.end()) {
    return gpu->index;
  }
  constexpr std::string_view kMig = "MIG-";
  if (uuid.starts_with(kMig) && !mig_.contains(uuid)) {
    mig_.clear();
    for (const inventory::GpuFacts& gpu : inventory_->survey().gpus) {
      for (const inventory::MigDevice& device : gpu.mig) {
        mig_.emplace(device.uuid, gpu.info.index);
      }
    }
  }
  const auto device = mig_.find(uuid);
  return device == mig_.end() ? std::nullopt : std::optional(device->second);
}

std::optional<std::string> GpuDevices::uuid_of(int gpu) const {
  if (inventory_ != nullptr) {
    const auto& gpus = inventory_->gpus();
    const auto found = std::ranges::find(gpus, gpu, &inventory::GpuInfo::index);
    if (found != gpus.end()) {
      return found->uuid;
    }
  }
  return std::nullopt;
}

} // namespace berth::node
