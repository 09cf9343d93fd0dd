#include "berth/server/gpu_page.h"

#include <tuple>
#include <utility>
#include <vector>

#include "berth/api/json.h"
#include "berth/server/gpu_metrics.h"

namespace berth::server {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr double kWhole = 100; ///< percent
constexpr std::string_view kDriverLabel = "nvidia.com/cuda.driver-version.full";

GpuSample sample_of(const GpuUsage& gpu) {
  GpuSample sample{.index = gpu.index,
                   .uuid = gpu.uuid,
                   .pci_bus_id = gpu.pci_bus_id,
                   .model = gpu.product,
                   .last_xid = gpu.last_xid,
                   .more = gpu.more,
                   .instances = {}};
  const auto mib = [](const std::optional<std::int64_t>& bytes) {
    return bytes ? std::optional(*bytes / kMiB) : std::nullopt;
  };
  for (const MigUsage& mig : gpu.instances) {
    sample.instances.push_back(
        {.uuid = mig.uuid,
         .profile = mig.profile,
         .gpu_instance = mig.gpu_instance,
         .engine_active = mig.percent ? std::optional(*mig.percent / kWhole) : std::nullopt,
         .used_mib = mib(mig.used_bytes),
         .free_mib = mib(mig.free_bytes)});
  }
  if (gpu.percent) {
    sample.percent = gpu.percent;
    sample.engine_active = *gpu.percent / kWhole;
  }
  if (gpu.used_bytes) {
    sample.used_mib = *gpu.used_bytes / kMiB;
    sample.free_mib =
        gpu.more.memory_free_bytes.value_or(gpu.memory_bytes - *gpu.used_bytes) / kMiB;
  }
  return sample;
}

/// By namespace, pod and container; processes of none of the pods together.
std::vector<ContainerMemory> memory_by_container(const std::vector<GpuProcess>& processes,
                                                 const std::map<std::string, api::Key>& pods) {
  std::map<std::tuple<std::string, std::string, std::string>, std::int64_t> bytes;
  for (const GpuProcess& process : processes) {
    if (process.used_bytes) {
      const auto pod = pods.find(process.pod_uid);
      const auto whose = pod == pods.end()
                             ? std::tuple<std::string, std::string, std::string>()
                             : std::tuple(pod->second.ns, pod->second.name, process.container);
      bytes[whose] += *process.used_bytes;
    }
  }
  std::vector<ContainerMemory> out;
  for (const auto& [whose, sum] : bytes) {
    const auto& [ns, pod, container] = whose;
    out.push_back({.ns = ns, .pod = pod, .container = container, .bytes = sum});
  }
  return out;
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

std::vector<std::string> node_names(const store::Registry& registry) {
  std::vector<std::string> names;
  for (const api::Object& node :
       registry.list({.kind = store::kNodes, .ns = "", .labels = {}}).items) {
    names.push_back(node.meta().name);
  }
  return names;
}

GpuSamples gpu_samples(std::string hostname, std::string driver, const std::vector<GpuUsage>& gpus,
                       const std::map<std::string, api::Key>& pods) {
  GpuSamples machine{
      .hostname = std::move(hostname), .driver = std::move(driver), .gpus = {}, .holders = {}};
  const auto hold = [&](const std::string& device, const std::string& uid,
                        const std::string& container) {
    if (const auto pod = pods.find(uid); pod != pods.end()) {
      machine.holders.push_back({.device = device,
                                 .ns = pod->second.ns,
                                 .pod = pod->second.name,
                                 .container = container});
    }
  };
  for (const GpuUsage& gpu : gpus) {
    machine.gpus.push_back(sample_of(gpu));
    machine.gpus.back().memory_of = memory_by_container(gpu.processes, pods);
    hold(gpu.uuid, gpu.pod_uid, gpu.container);
    for (const MigUsage& mig : gpu.instances) {
      hold(mig.uuid, mig.pod_uid, mig.container);
    }
  }
  return machine;
}

std::string gpu_page(const store::Registry& registry, const Nodes& nodes) {
  std::map<std::string, api::Key> pods;
  for (const api::Object& pod :
       registry.list({.kind = store::kPods, .ns = "", .labels = {}}).items) {
    if (!has_ended(pod)) {
      pods.emplace(pod.meta().uid, pod.key());
    }
  }
  std::vector<GpuSamples> machines;
  for (const api::Object& node :
       registry.list({.kind = store::kNodes, .ns = "", .labels = {}}).items) {
    const auto usage = nodes.usage(node.meta().name);
    if (!usage || usage->gpus.empty()) {
      continue;
    }
    const auto driver = node.meta().labels.find(kDriverLabel);
    machines.push_back(gpu_samples(node.meta().name,
                                   driver == node.meta().labels.end() ? "" : driver->second,
                                   usage->gpus, pods));
  }
  return gpu_metrics(machines);
}

} // namespace berth::server
