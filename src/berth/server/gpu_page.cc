#include "berth/server/gpu_page.h"

#include <utility>
#include <vector>

#include "berth/api/json.h"
#include "berth/server/gpu_metrics.h"

namespace berth::server {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::string_view kDriverLabel = "nvidia.com/cuda.driver-version.full";

GpuSample sample_of(const GpuUsage& gpu) {
  GpuSample sample{.index = gpu.index,
                   .uuid = gpu.uuid,
                   .pci_bus_id = gpu.pci_bus_id,
                   .model = gpu.product,
                   .last_xid = gpu.last_xid,
                   .instances = {}};
  if (gpu.sickness.empty()) {
    sample.percent = gpu.percent;
    sample.engine_active = gpu.percent / 100.0;
    sample.used_mib = gpu.used_bytes / kMiB;
    sample.free_mib = (gpu.memory_bytes - gpu.used_bytes) / kMiB;
  }
  return sample;
}

bool has_ended(const api::Object& pod) {
  const std::string_view phase = api::string_at(pod.json(), "status.phase");
  return phase == "Succeeded" || phase == "Failed";
}

} // namespace

std::map<std::string, api::Key> pods_by_uid(const store::Registry& registry) {
  std::map<std::string, api::Key> out;
  for (const api::Object& pod :
       registry.list({.kind = store::kPods, .ns = "", .labels = {}}).items) {
    out.emplace(pod.meta().uid, pod.key());
  }
  return out;
}

std::string gpu_page(const store::Registry& registry, const Nodes& nodes) {
  const std::map<std::string, api::Key> pods = pods_by_uid(registry);
  std::vector<GpuSamples> machines;
  for (const api::Object& node :
       registry.list({.kind = store::kNodes, .ns = "", .labels = {}}).items) {
    const auto usage = nodes.usage(node.meta().name);
    if (!usage || usage->gpus.empty()) {
      continue;
    }
    GpuSamples machine{.hostname = node.meta().name, .driver = {}, .gpus = {}, .holders = {}};
    const auto driver = node.meta().labels.find(kDriverLabel);
    machine.driver = driver == node.meta().labels.end() ? "" : driver->second;
    for (const GpuUsage& gpu : usage->gpus) {
      machine.gpus.push_back(sample_of(gpu));
      const auto pod = pods.find(gpu.pod_uid);
      if (pod == pods.end()) {
        continue;
      }
      const auto object = registry.get(store::kPods, pod->second);
      if (object && !has_ended(*object)) {
        machine.holders.push_back({.device = gpu.uuid,
                                   .ns = pod->second.ns,
                                   .pod = pod->second.name,
                                   .container = gpu.container});
      }
    }
    machines.push_back(std::move(machine));
  }
  return gpu_metrics(machines);
}

} // namespace berth::server
