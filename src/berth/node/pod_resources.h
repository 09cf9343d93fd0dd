// Who has which devices, as the kubelet tells monitoring agents: the PodResources API's content,
// pure. One entry a device and NUMA node, as the kubelet has it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/model/pod.h"
#include "berth/node/device_ledger.h"
#include "berth/node/plugin_endpoints.h"

namespace berth::node {

struct ContainerDevices {
  std::string resource;
  std::vector<std::string> ids;
  std::optional<std::int64_t> numa; ///< none: no topology

  bool operator==(const ContainerDevices&) const = default;
};

struct ContainerResources {
  std::string name;
  std::vector<ContainerDevices> devices;
  std::vector<std::int64_t> cpu_ids;

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
};

/// The CPUs a container has for itself; {} for nobody who gives any.
using CpusOf =
    std::function<std::vector<std::int64_t>(std::string_view pod_uid, std::string_view container)>;

/// Init containers are named only if they are restartable: others come and go.
PodResources pod_resources(const model::Pod& pod, const DeviceLedger& ledger, const CpusOf& cpus);

/// By resource, then in the plugin's order. Only of plugins that are there.
std::vector<ContainerDevices> allocatable_devices(const PluginEndpoints& plugins);

} // namespace berth::node
