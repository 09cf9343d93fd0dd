// Who has which devices, as the kubelet tells monitoring agents: the PodResources API's content,
// pure. One entry a device and NUMA node, as the kubelet has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/model/pod.h"
#include "berth/node/device_ledger.h"
#include "berth/node/plugin_endpoints.h"
#include "berth/topology/numa_book.h"

namespace berth::node {

struct ContainerDevices {
  std::string resource;
  std::vector<std::string> ids;
  std::optional<std::int64_t> numa; ///< none: no topology

  bool operator==(const ContainerDevices&) const = default;
};

struct ContainerMemory {
  std::string type; ///< "memory", "hugepages-2Mi"
  std::int64_t bytes = 0;
  std::vector<std::int64_t> numa; ///< the nodes that it is on

  bool operator==(const ContainerMemory&) const = default;
};

struct ContainerResources {
  std::string name;
  std::vector<ContainerDevices> devices;
  std::vector<std::int64_t> cpu_ids;   ///< that it has for itself
  std::vector<ContainerMemory> memory; ///< likewise

  bool operator==(const ContainerResources&) const = default;
};

struct PodResources {
  std::string name;
  std::string ns;
  std::vector<ContainerResources> containers;

  bool operator==(const PodResources&) const = default;
};

struct PodResourcesReport {
  std::vector<PodResources> pods;        ///< active ones, by namespace and name
  std::vector<ContainerDevices> devices; ///< healthy ones, held or not
  std::vector<std::int64_t> cpu_ids;     ///< that containers may have for themselves
  std::vector<ContainerMemory> memory;   ///< likewise, by NUMA node
};

/// Init containers are named only if they are restartable: others come and go.
PodResources pod_resources(const model::Pod& pod, const DeviceLedger& ledger,
                           const topology::NumaBook& numa);

/// By resource, then in the plugin's order. Only of plugins that are there.
std::vector<ContainerDevices> allocatable_devices(const PluginEndpoints& plugins);
/// CPUs that are not reserved, given or not; none unless the policy gives them.
std::vector<std::int64_t> allocatable_cpus(const topology::NumaBook& numa);
/// Of each kind on each NUMA node what is not reserved, given or not; likewise.
std::vector<ContainerMemory> allocatable_memory(const topology::NumaBook& numa);

} // namespace berth::node
