#include "berth/node/pod_resources.h"

#include "berth/node/device_request.h"

namespace berth::node {
namespace {

// Ids without topology are filed under -1.
std::optional<std::int64_t> numa_node(std::int64_t filed) {
  return filed < 0 ? std::nullopt : std::optional(filed);
}

} // namespace

PodResources pod_resources(const model::Pod& pod, const DeviceLedger& ledger, const CpusOf& cpus) {
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
    if (cpus) {
      container.cpu_ids = cpus(pod.meta.uid, name);
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

} // namespace berth::node
