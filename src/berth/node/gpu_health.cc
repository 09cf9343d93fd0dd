#include "berth/node/gpu_health.h"

#include <fmt/format.h>

#include "berth/hardware/choose.h"
#include "berth/model/gpu_units.h"
#include "berth/node/plugin_endpoints.h"

namespace berth::node {
namespace {

using hardware::GpuMask;

GpuMask bit(int gpu) {
  return GpuMask{1} << gpu;
}

} // namespace

GpuHealth::GpuHealth(const inventory::Inventory* inventory, const DeviceManager& devices,
                     GpuDevices& places, client::EventRecorder& events)
    : inventory_(inventory), devices_(&devices), events_(&events), places_(&places) {}

std::optional<GpuMask> GpuHealth::unhealthy() const {
  GpuMask seen = 0;
  GpuMask well = 0;
  const PluginEndpoints& plugins = devices_->plugins();
  for (const std::string& resource : plugins.resources()) {
    if (!plugins.live(resource)) {
      continue;
    }
    for (const deviceplugin::Device& device : plugins.pool(resource)->devices()) {
      const auto gpu = places_->gpu_of(device.id);
      if (gpu && *gpu >= 0 && *gpu < model::kMaxGpus) {
        seen |= bit(*gpu);
        well |= device.health == deviceplugin::kHealthy ? bit(*gpu) : 0;
      }
    }
  }
  return seen == 0 ? std::nullopt : std::optional(seen & ~well);
}

void GpuHealth::tell(const api::Object& node) {
  if (!node) {
    return;
  }
  if (!told_) {
    const auto& annotations = node.meta().annotations;
    const auto told = annotations.find(model::kUnhealthyGpusAnnotation);
    told_ = told == annotations.end() ? 0 : hardware::parse_gpu_indices(told->second).value_or(0);
  }
  const auto sick = unhealthy();
  if (!sick) {
    return;
  }
  const GpuMask changed = *sick ^ *told_;
  for (const inventory::GpuInfo& gpu : inventory_->gpus()) {
    if (gpu.index < model::kMaxGpus && (changed & bit(gpu.index)) != 0) {
      tell_of(gpu, (*sick & bit(gpu.index)) != 0, node);
    }
  }
  told_ = sick;
}

void GpuHealth::tell_of(const inventory::GpuInfo& gpu, bool sick, const api::Object& node) const {
  if (!sick) {
    events_->record(node, client::EventType::Normal, "GpuHealthy",
                    fmt::format("GPU {} ({}) is healthy again", gpu.index, gpu.uuid));
    return;
  }
  std::string why = inventory::illness(inventory_->probe(gpu.index));
  if (why.empty()) {
    why = "its device plugin says so";
  }
  events_->record(node, client::EventType::Warning, "GpuUnhealthy",
                  fmt::format("GPU {} ({}) is unhealthy: {}", gpu.index, gpu.uuid, why));
}

} // namespace berth::node
