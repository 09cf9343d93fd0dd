#include "berth/node/pod_resources.h"

#include "berth/node/device_request.h"

namespace berth::node {
namespace {

// Ids without topology are filed under -1.
std::optional<std::int64_t> numa_node(std::int64_t filed) {
  return filed < 0 ? std::nullopt : std::optional(filed);
}

} // namespace

PodResources pod_resources(const model::Pod& pod, const DeviceLedger& ledger,
                           const topology::NumaBook& numa_book) {
  PodResources out{.name = pod.meta.name, .ns = pod.meta.ns};
  for (const ContainerRef& ref : containers_of(pod.spec)) {
    if (ref.role == Role::Init) {
      continue;
    }
    const std::string& name = ref.container->name;
    ContainerResources& container = out.containers.emplace_back(ContainerResources{.name = name});
    for (const Holding* holding : ledger.of_container(pod.meta.uid, name)) {
      for (const auto& [numa, ids] : holding->devices) {
        for (const std::string& id : ids) {
          container.devices.push_back(
              {.resource = holding->resource, .ids = {id}, .numa = numa_node(numa)});
        }
      }
    }
    if (const auto cpus = numa_book.cpus().find(pod.meta.uid, name)) {
      container.cpu_ids.assign(cpus->begin(), cpus->end());
    }
    if (const auto* memory = numa_book.memory().find(pod.meta.uid, name)) {
      const std::vector<int> nodes = memory->nodes.ids();
      for (const auto& [type, bytes] : memory->amounts) {
        container.memory.push_back(
            {.type = type, .bytes = bytes, .numa = {nodes.begin(), nodes.end()}});
      }
    }
  }
  return out;
}

std::vector<ContainerDevices> allocatable_devices(const PluginEndpoints& plugins) {
  std::vector<ContainerDevices> out;
  for (const std::string& resource : plugins.resources()) {
    const DevicePool& pool = *plugins.pool(resource);
    for (const std::string& id : pool.healthy()) {
      const std::vector<std::int64_t> nodes = pool.numa_of(id);
      for (const std::int64_t node : nodes) {
        out.push_back({.resource = resource, .ids = {id}, .numa = node});
      }
      if (nodes.empty()) {
        out.push_back({.resource = resource, .ids = {id}, .numa = {}});
      }
    }
  }
  return out;
}

std::vector<std::int64_t> allocatable_cpus(const topology::NumaBook& numa) {
  if (!numa.cpus().active()) {
    return {};
  }
  topology::CpuSet cpus = numa.cpus().available();
  for (const topology::CpuAssignment& given : numa.cpus().all()) {
    cpus = cpus | given.cpus;
  }
  return {cpus.begin(), cpus.end()};
}

std::vector<ContainerMemory> allocatable_memory(const topology::NumaBook& numa) {
  std::vector<ContainerMemory> out;
  if (!numa.memory().active()) {
    return out;
  }
  for (const topology::MachineNuma& node : numa.rules().machine->nodes) {
    for (const auto& [type, bytes] : node.memory) {
      const std::int64_t free =
          numa.memory().allocatable(topology::NumaMask::single(node.id), type);
      if (free > 0) {
        out.push_back({.type = type, .bytes = free, .numa = {node.id}});
      }
    }
  }
  return out;
}

} // namespace berth::node
