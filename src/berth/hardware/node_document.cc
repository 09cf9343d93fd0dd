// The Node object of a healthy machine of a platform: what kubelet and GPU feature discovery would
// publish. Label names and values follow GPU feature discovery; reserved amounts are explained at
// allocatable_cpu_milli and below.
#include <algorithm>
#include <array>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "berth/hardware/discovery/labels.h"
#include "berth/hardware/identity.h"
#include "berth/hardware/node_conditions.h"
#include "berth/hardware/platform.h"

namespace berth::hardware {

namespace {

namespace json = api::json;

constexpr std::int64_t kKibPerGib = 1 << 20;
constexpr int kPods = 110; // kubelet's default

/// Reserved for the system and kubelet as the managed Kubernetes services do: of the first core 6
/// %, of the second 1 %, of the next two 0.5 %, of the rest 0.25 %.
std::int64_t allocatable_cpu_milli(std::int64_t cpus) {
  const auto cores = [&](std::int64_t from, std::int64_t to) {
    return std::clamp(cpus, from, to) - from;
  };
  const std::int64_t reserved_hundredths =
      cores(0, 1) * 6000 + cores(1, 2) * 1000 + cores(2, 4) * 500 + cores(4, cpus) * 250;
  return cpus * 1000 - (reserved_hundredths + 99) / 100;
}

/// Likewise of memory: 25 % of the first 4 GiB, 20 % of the next 4, 10 % of the next 8, 6 % of the
/// next 112, 2 % of the rest, and kubelet's hard eviction threshold of 100 MiB.
std::int64_t allocatable_memory_kib(std::int64_t gib) {
  struct Band {
    std::int64_t to_gib;
    std::int64_t percent;
  };
  constexpr std::array<Band, 4> kBands{{{4, 25}, {8, 20}, {16, 10}, {128, 6}}};
  std::int64_t reserved = 100 * 1024;
  std::int64_t from = 0;
  for (const auto& band : kBands) {
    reserved += (std::clamp(gib, from, band.to_gib) - from) * kKibPerGib * band.percent / 100;
    from = band.to_gib;
  }
  reserved += std::max<std::int64_t>(gib - from, 0) * kKibPerGib * 2 / 100;
  return gib * kKibPerGib - reserved;
}

json::object resources(const Platform& platform, std::string cpu, std::string memory,
                       std::string storage) {
  return {{"cpu", std::move(cpu)},        {"ephemeral-storage", std::move(storage)},
          {"hugepages-1Gi", "0"},         {"hugepages-2Mi", "0"},
          {"memory", std::move(memory)},  {"nvidia.com/gpu", fmt::to_string(platform.gpus.size())},
          {"pods", fmt::to_string(kPods)}};
}

json::object capacity(const Platform& platform) {
  return resources(platform, fmt::to_string(platform.cpus),
                   fmt::format("{}Ki", platform.memory_gib * kKibPerGib),
                   fmt::format("{}Ki", platform.disks.root_gib * kKibPerGib));
}

json::object allocatable(const Platform& platform) {
  // kubelet keeps a tenth of the root file system free (nodefs.available) and prints the rest in
  // bytes.
  return resources(platform, fmt::format("{}m", allocatable_cpu_milli(platform.cpus)),
                   fmt::format("{}Ki", allocatable_memory_kib(platform.memory_gib)),
                   fmt::to_string(platform.disks.root_gib * kKibPerGib * 1024 * 9 / 10));
}

/// An address of 10.0.0.0/8 that nodes NAME-1 ... NAME-65534 do not share.
std::string internal_ip(std::string_view name) {
  const auto [stem, number] = split_number(name);
  const auto host = number < 1 || number > 0xfffe ? mix(name, 0) % 0xfffe + 1
                                                  : static_cast<std::uint64_t>(number);
  return fmt::format("10.{}.{}.{}", mix(stem, 1) & 0xff, host >> 8, host & 0xff);
}

json::object node_info(const Platform& platform, std::string_view name) {
  return {{"architecture", platform.cpu_model.architecture},
          {"bootID", stable_uuid(name, 1001)},
          {"containerRuntimeVersion", "containerd://2.1.4"},
          {"kernelVersion", "6.8.0-85-generic"},
          {"kubeProxyVersion", ""},
          {"kubeletVersion", kKubeletVersion},
          {"machineID", fmt::format("{:016x}{:016x}", mix(name, 1002), mix(name, 1003))},
          {"operatingSystem", "linux"},
          {"osImage", "Ubuntu 24.04.3 LTS"},
          {"systemUUID", stable_uuid(name, 1004)}};
}

/// What feature discovery sets, what a kubelet does, and what the GPU operator adds. Without a name
/// it is no node's: in no NVLink domain.
api::Labels labels_of(const Platform& platform, std::string_view name) {
  NodeFacts facts = simulated_facts(platform, name);
  for (GpuFacts& gpu : facts.gpus) {
    gpu.fabric = name.empty() ? "" : gpu.fabric;
  }
  const LabelOptions as_given; // MIG is not looked at, nothing is shared
  api::Labels labels = discovery_labels(facts, as_given).value_or(api::Labels());
  labels["nvidia.com/gpu.present"] = "true";
  for (const std::string prefix : {"kubernetes.io/", "beta.kubernetes.io/"}) {
    labels[prefix + "arch"] = platform.cpu_model.architecture;
    labels[prefix + "os"] = "linux";
  }
  labels["node.kubernetes.io/instance-type"] = platform.instance_type;
  labels[std::string(model::kPlatformLabel)] = platform.name;
  return labels;
}

json::object labels_object(const Platform& platform, std::string_view name) {
  api::Labels labels = labels_of(platform, name);
  labels["kubernetes.io/hostname"] = std::string(name);
  json::object object;
  for (const auto& [key, value] : labels) {
    object[key] = value;
  }
  return object;
}

} // namespace

api::Labels node_labels(const Platform& platform) {
  return labels_of(platform, "");
}

json::value node_document(const Platform& platform, std::string_view name) {
  return json::object{
      {"apiVersion", "v1"},
      {"kind", "Node"},
      {"metadata", json::object{{"name", name}, {"labels", labels_object(platform, name)}}},
      {"spec", json::object{}},
      {"status",
       json::object{
           {"addresses",
            json::array{json::object{{"type", "InternalIP"}, {"address", internal_ip(name)}},
                        json::object{{"type", "Hostname"}, {"address", name}}}},
           {"allocatable", allocatable(platform)},
           {"capacity", capacity(platform)},
           {"conditions", healthy_conditions()},
           {"daemonEndpoints", json::object{{"kubeletEndpoint", json::object{{"Port", 10250}}}}},
           {"nodeInfo", node_info(platform, name)}}}};
}

} // namespace berth::hardware
