#include "berth/deviceplugin/replicas.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace berth::deviceplugin {
namespace {

/// UUIDs of the devices to share.
Result<std::set<std::string>> chosen(const PlannedResource& resource,
                                     const SharedResource& shared) {
  std::set<std::string> uuids;
  if (shared.devices.list) {
    for (const std::string& ref : *shared.devices.list) {
      const bool by_uuid = ref.starts_with("GPU-") || ref.starts_with("MIG-");
      const auto found = std::ranges::find(resource.devices, ref,
                                           by_uuid ? &PluginDevice::uuid : &PluginDevice::index);
      if (found == resource.devices.end()) {
        return fail(Code::Invalid, fmt::format("no matching device {}: {}",
                                               by_uuid ? "with UUID" : "at index", ref));
      }
      uuids.insert(found->uuid);
    }
    return uuids;
  }
  const auto count = static_cast<std::size_t>(
      shared.devices.count.value_or(static_cast<int>(resource.devices.size())));
  if (count > resource.devices.size()) {
    return fail(Code::Invalid,
                fmt::format("requested {} devices to be replicated, but only {} devices available",
                            count, resource.devices.size()));
  }
  for (std::size_t i = 0; i < count; ++i) {
    uuids.insert(resource.devices[i].uuid);
  }
  return uuids;
}

Result<void> check_mps(const inventory::NodeFacts& facts, const PlannedResource& resource,
                       const std::set<std::string>& uuids, int replicas) {
  for (const PluginDevice& device : resource.devices) {
    if (!uuids.contains(device.uuid)) {
      continue;
    }
    if (device.mig) {
      return fail(Code::Invalid, "sharing using MPS is not supported for MIG devices");
    }
    const int most = most_mps_clients(facts.gpus[static_cast<std::size_t>(device.gpu)]);
    if (replicas > most) {
      return fail(
          Code::Invalid,
          fmt::format("invalid device maximum allowed replicas exceeded: {} > {}", replicas, most));
    }
  }
  return {};
}

std::vector<PluginDevice> replicas_of(const PlannedResource& resource,
                                      const std::set<std::string>& uuids, int replicas) {
  std::vector<PluginDevice> out;
  for (const PluginDevice& device : resource.devices) {
    for (int i = 0; i < replicas && uuids.contains(device.uuid); ++i) {
      PluginDevice& replica = out.emplace_back(device);
      replica.id = fmt::format("{}::{}", device.uuid, i);
      replica.replica = true;
    }
  }
  return out;
}

PlannedResource& resource_named(ResourcePlan& plan, const std::string& name) {
  const auto at =
      std::ranges::lower_bound(plan.resources, std::string_view(name), {}, &PlannedResource::name);
  if (at != plan.resources.end() && at->name == name) {
    return *at;
  }
  return *plan.resources.insert(at, PlannedResource{.name = name, .devices = {}});
}

void place(ResourcePlan& plan, const PlannedResource& from, const SharedResource& shared,
           const std::set<std::string>& uuids, inventory::Sharing strategy) {
  std::erase_if(resource_named(plan, from.name).devices, [&](const PluginDevice& device) {
    return !device.replica && uuids.contains(device.uuid);
  });
  const std::string name = shared.rename.empty() ? from.name : shared.rename;
  PlannedResource& target = resource_named(plan, name);
  target.sharing = strategy;
  for (PluginDevice& replica : replicas_of(from, uuids, shared.replicas)) {
    target.devices.push_back(std::move(replica));
  }
  std::ranges::stable_sort(target.devices, {}, &PluginDevice::gpu);
  // What is known by its new name alone is not advertised by the old one.
  if (name != from.name) {
    std::erase_if(plan.resources, [&](const PlannedResource& resource) {
      return resource.name == from.name && resource.devices.empty();
    });
  }
}

} // namespace

int most_mps_clients(const inventory::GpuFacts& gpu) {
  constexpr int kMany = 48;
  constexpr int kFew = 16;
  return std::pair(gpu.compute_major, gpu.compute_minor) >= std::pair(7, 5) ? kMany : kFew;
}

void replicate(const inventory::NodeFacts& facts, const Sharing& sharing, ResourcePlan& plan) {
  const inventory::Sharing strategy = sharing.strategy();
  const ResourcePlan before = plan;
  for (const SharedResource& shared : sharing.resources()->resources) {
    const PlannedResource* resource = before.find(shared.name);
    if (resource == nullptr || resource->devices.empty()) {
      continue;
    }
    auto uuids = chosen(*resource, shared);
    const auto checked = uuids && strategy == inventory::Sharing::Mps
                             ? check_mps(facts, *resource, *uuids, shared.replicas)
                             : Result<void>();
    if (!uuids || !checked) {
      plan.problems.push_back(
          fmt::format("{} is advertised without devices: unable to share them: {}", shared.name,
                      uuids ? checked.error().message : uuids.error().message));
      resource_named(plan, shared.name).devices.clear();
      continue;
    }
    place(plan, *resource, shared, *uuids, strategy);
  }
}

} // namespace berth::deviceplugin
