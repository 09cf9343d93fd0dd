#include "berth/deviceplugin/resource_plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "berth/deviceplugin/replicas.h"

namespace berth::deviceplugin {
namespace {

using inventory::GpuFacts;
using inventory::MigDevice;
using inventory::MigStrategy;

constexpr std::string_view kGpu = "nvidia.com/gpu";

PluginDevice whole(const GpuFacts& gpu) {
  return {.id = gpu.info.uuid,
          .uuid = gpu.info.uuid,
          .index = fmt::to_string(gpu.info.index),
          .gpu = gpu.info.index,
          .minor = gpu.info.minor,
          .numa = gpu.info.numa};
}

PluginDevice part(const GpuFacts& gpu, const MigDevice& device, std::size_t number) {
  return {.id = device.uuid,
          .uuid = device.uuid,
          .index = fmt::format("{}:{}", gpu.info.index, number),
          .gpu = gpu.info.index,
          .minor = gpu.info.minor,
          .mig = MigInstance{device.gpu_instance, device.compute_instance},
          .numa = gpu.info.numa};
}

std::string without_devices(const GpuFacts& gpu) {
  return fmt::format("device {} has no MIG devices configured", gpu.info.index);
}

/// Why strategy single cannot be; "" if it can.
std::string single_problem(const inventory::NodeFacts& facts) {
  const MigDevice* first = nullptr;
  bool uniform = true;
  bool any_off = false;
  for (const GpuFacts& gpu : facts.gpus) {
    if (!gpu.answers) {
      continue;
    }
    any_off = any_off || !gpu.mig_enabled;
    if (gpu.mig_enabled && gpu.mig.empty()) {
      return without_devices(gpu);
    }
    for (const MigDevice& device : gpu.mig) {
      first = first == nullptr ? &device : first;
      uniform = uniform && device.profile == first->profile;
    }
  }
  if (!uniform) {
    return "more than one MIG device type present on node";
  }
  return first != nullptr && any_off
             ? "all devices on the node must be configured with the same migEnabled value"
             : "";
}

using ByName = std::map<std::string, PlannedResource, std::less<>>;

std::vector<PluginDevice>& devices_of(ByName& resources, std::string_view name) {
  const auto made = resources.try_emplace(std::string(name)).first;
  made->second.name = name;
  return made->second.devices;
}

void plan_single(const inventory::NodeFacts& facts, ByName& resources,
                 std::vector<std::string>& problems) {
  std::vector<PluginDevice>& devices = devices_of(resources, kGpu);
  if (std::string problem = single_problem(facts); !problem.empty()) {
    problems.push_back(fmt::format("{} is advertised without devices: {}", kGpu, problem));
    return;
  }
  const bool cut = std::ranges::any_of(facts.gpus, &GpuFacts::mig_enabled);
  for (const GpuFacts& gpu : facts.gpus) {
    if (!cut) {
      devices.push_back(whole(gpu));
    }
    for (std::size_t i = 0; cut && i < gpu.mig.size(); ++i) {
      devices.push_back(part(gpu, gpu.mig[i], i));
    }
  }
}

void plan_mixed(const inventory::NodeFacts& facts, ByName& resources,
                std::vector<std::string>& problems) {
  for (const GpuFacts& gpu : facts.gpus) {
    if (!gpu.mig_enabled) {
      devices_of(resources, kGpu).push_back(whole(gpu));
      continue;
    }
    if (gpu.mig.empty()) {
      problems.push_back(without_devices(gpu));
    }
    for (std::size_t i = 0; i < gpu.mig.size(); ++i) {
      const MigDevice& device = gpu.mig[i];
      if (device.compute_slices != device.gpu_slices) {
        problems.push_back(fmt::format("MIG profile '{}' does not match any resource patterns: "
                                       "a part of an instance is not advertised: {}",
                                       device.profile, device.uuid));
        continue;
      }
      devices_of(resources, fmt::format("nvidia.com/{}", mig_resource(device.profile)))
          .push_back(part(gpu, device, i));
    }
  }
}

} // namespace

const PluginDevice* PlannedResource::find(std::string_view id) const {
  const auto it = std::ranges::find(devices, id, &PluginDevice::id);
  return it == devices.end() ? nullptr : &*it;
}

const PlannedResource* ResourcePlan::find(std::string_view name) const {
  const auto it = std::ranges::find(resources, name, &PlannedResource::name);
  return it == resources.end() ? nullptr : &*it;
}

std::string mig_resource(std::string_view profile) {
  std::string name = fmt::format("mig-{}", profile);
  std::ranges::replace(name, '+', '.');
  return name;
}

ResourcePlan plan_resources(const inventory::NodeFacts& facts, const Config& config) {
  ResourcePlan plan;
  if (facts.gpus.empty()) {
    return plan;
  }
  ByName resources;
  switch (config.flags.mig_strategy) {
  case MigStrategy::None:
    for (const GpuFacts& gpu : facts.gpus) {
      devices_of(resources, kGpu).push_back(whole(gpu));
    }
    break;
  case MigStrategy::Single:
    plan_single(facts, resources, plan.problems);
    break;
  case MigStrategy::Mixed:
    plan_mixed(facts, resources, plan.problems);
    break;
  }
  if (resources.empty()) {
    devices_of(resources, kGpu);
  }
  for (auto& [name, resource] : resources) {
    plan.resources.push_back(std::move(resource));
  }
  if (config.sharing.resources() != nullptr) {
    replicate(facts, config.sharing, plan);
  }
  return plan;
}

} // namespace berth::deviceplugin
