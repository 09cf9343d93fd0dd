#include "berth/sim/gpu_invariants.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "berth/cluster/fleet.h"
#include "berth/model/gpu_slices.h"
#include "berth/model/hami.h"
#include "berth/model/node.h"
#include "berth/node/gpu_devices.h"
#include "berth/sched/cluster_state.h"
#include "berth/scheduler/scheduler.h"

namespace berth::sim {
namespace {

namespace hami = model::hami;

/// What is in use of one GPU in vGPUs.
struct VgpuUse {
  std::int64_t memory = 0; ///< MiB
  std::int64_t cores = 0;
  std::int64_t containers = 0;
  bool alone = false;
};

std::string_view annotation(const api::Labels& annotations, std::string_view key) {
  const auto it = annotations.find(key);
  return it == annotations.end() ? std::string_view() : std::string_view(it->second);
}

/// The containers' names in the order of a pod's shares.
std::vector<std::string> container_names(const model::PodSpec& spec) {
  std::vector<std::string> names;
  for (const auto* list : {&spec.init_containers, &spec.containers}) {
    for (const model::Container& container : *list) {
      names.push_back(container.name);
    }
  }
  return names;
}

/// Devices that the agent has given the pod, by resource and GPU.
std::map<std::string, model::CountByGpu> held_by_gpu(const node::SimulatedMachine& machine,
                                                     node::GpuDevices& gpus,
                                                     std::string_view pod_uid) {
  std::map<std::string, std::set<std::string>> ids; // an init container's may be another's too
  for (const node::Holding* holding : machine.agent()->devices().of_pod(pod_uid)) {
    for (const std::string& id : holding->ids()) {
      ids[holding->resource].insert(id);
    }
  }
  std::map<std::string, model::CountByGpu> held;
  for (const auto& [resource, each] : ids) {
    for (const std::string& id : each) {
      ++held[resource][gpus.gpu_of(id).value_or(-1)];
    }
  }
  return held;
}

/// What is promised, by node, resource and GPU.
std::map<std::string, std::map<std::string, model::CountByGpu>>
promised_slices(const std::vector<GpuInvariants::PodView>& live) {
  std::map<std::string, std::map<std::string, model::CountByGpu>> promised;
  for (const GpuInvariants::PodView& pod : live) {
    for (const auto& [resource, counts] : model::slices_of_pod(pod->meta.annotations)) {
      for (const auto& [gpu, count] : counts) {
        promised[pod->spec.node_name][resource][gpu] += count;
      }
    }
  }
  return promised;
}

} // namespace

void GpuInvariants::check(const std::vector<PodView>& live, std::vector<std::string>& broken) {
  for (const std::string& name : cluster_.fleet().names()) {
    node::SimulatedMachine& machine = *cluster_.fleet().find(name);
    const auto node = cluster_.registry().get(store::kNodes, {"", name});
    const bool sick =
        node && !annotation(node->meta().annotations, model::kUnhealthyGpusAnnotation).empty();
    if (!machine.powered() || machine.agent() == nullptr || machine.plugins() == nullptr || sick) {
      disturbed_.insert(name);
    }
    check_mig(name, machine, broken);
  }
  check_promised(live, broken);
  check_slices(live, broken);
  check_vgpus(live, broken);
}

void GpuInvariants::check_promised(const std::vector<PodView>& live,
                                   std::vector<std::string>& broken) const {
  for (const auto& [name, resources] : promised_slices(live)) {
    const node::SimulatedMachine* machine = cluster_.fleet().find(name);
    for (const auto& [resource, counts] : resources) {
      const deviceplugin::GpuPlugin* plugin = machine != nullptr && machine->plugins() != nullptr
                                                  ? machine->plugins()->find(resource)
                                                  : nullptr;
      if (plugin == nullptr || plugin->resource().devices.empty()) {
        continue; // it is away, and cannot be asked
      }
      for (const auto& [gpu, count] : counts) {
        const auto there =
            std::ranges::count(plugin->resource().devices, gpu, &deviceplugin::PluginDevice::gpu);
        if (count > there) {
          broken.push_back(fmt::format("{}: {} {} of GPU {} are promised, it has {}", name, count,
                                       resource, gpu, there));
        }
      }
    }
  }
}

void GpuInvariants::check_vgpus(const std::vector<PodView>& live,
                                std::vector<std::string>& broken) const {
  std::map<std::string, std::map<std::string, VgpuUse>> uses; // node, GPU
  for (const PodView& pod : live) {
    const auto shares = hami::shares_of(*pod);
    if (pod->spec.node_name.empty() || !shares) {
      continue;
    }
    for (const auto& container : *shares) {
      for (const hami::Share& share : container) {
        VgpuUse& use = uses[pod->spec.node_name][share.uuid];
        use.memory += share.memory;
        use.cores += share.cores;
        use.alone = use.alone || share.cores == 100;
        ++use.containers;
      }
    }
    const node::SimulatedMachine* machine = cluster_.fleet().find(pod->spec.node_name);
    if (machine != nullptr && machine->agent() != nullptr) {
      check_given(pod, *machine, broken);
    }
  }
  for (const auto& [name, gpus] : uses) {
    const auto node = cluster_.registry().get(store::kNodes, {"", name});
    const auto view = node ? model::node_view(*node) : tl::unexpected(node.error());
    for (const hami::Device& gpu : view ? hami::devices_of(**view) : std::vector<hami::Device>()) {
      const auto use = gpus.find(gpu.uuid);
      if (use == gpus.end()) {
        continue;
      }
      const auto& [memory, cores, containers, alone] = use->second;
      if (memory > gpu.memory || cores > gpu.cores || containers > gpu.count ||
          (alone && containers > 1)) {
        broken.push_back(
            fmt::format("{}: vGPUs of {} are promised to {} containers with {} MiB and "
                        "{}% of the cores, more than it has",
                        name, gpu.uuid, containers, memory, cores));
      }
    }
  }
}

void GpuInvariants::check_given(const PodView& pod, const node::SimulatedMachine& machine,
                                std::vector<std::string>& broken) const {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  const hami::PodShares shares = hami::shares_of(*pod).value_or(hami::PodShares());
  const std::vector<std::string> names = container_names(pod->spec);
  for (const node::Holding* holding : machine.agent()->devices().of_pod(pod->meta.uid)) {
    if (holding->resource != model::kGpuResource) {
      continue;
    }
    std::set<std::tuple<std::string, std::int64_t, int>> given;
    for (const std::string& id : holding->ids()) {
      const node::GpuPart part = holding->part.value_or(node::GpuParts()).of(id);
      given.emplace(id, part.memory / kMiB, part.cores);
    }
    const auto at =
        static_cast<std::size_t>(std::ranges::find(names, holding->container) - names.begin());
    std::set<std::tuple<std::string, std::int64_t, int>> chosen;
    for (const hami::Share& share : at < shares.size() ? shares[at] : std::vector<hami::Share>()) {
      chosen.emplace(share.uuid, share.memory, share.cores);
    }
    if (given != chosen) {
      broken.push_back(fmt::format("container {} of pod {} has other vGPUs than were chosen: {}",
                                   holding->container, pod->key().to_string(),
                                   hami::encode_shares(shares)));
    }
  }
}

void GpuInvariants::check_mig(std::string_view node, node::SimulatedMachine& machine,
                              std::vector<std::string>& broken) const {
  for (const inventory::GpuFacts& gpu : machine.inventory().survey().gpus) {
    std::map<int, const inventory::MigDevice*> instances; // by GPU instance
    for (const inventory::MigDevice& device : gpu.mig) {
      instances.emplace(device.gpu_instance, &device);
    }
    std::vector<std::pair<int, int>> spans;
    spans.reserve(instances.size());
    for (const auto& [id, device] : instances) {
      spans.emplace_back(device->start, device->start + device->size);
    }
    std::ranges::sort(spans);
    constexpr int kSlices = 8;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const int end = i + 1 < spans.size() ? spans[i + 1].first : kSlices;
      if (spans[i].second > end) {
        broken.push_back(fmt::format("{}: MIG devices of GPU {} overlap at memory slice {}", node,
                                     gpu.info.index, end));
      }
    }
  }
}

// The agent may give others than were chosen where these cannot be had.
void GpuInvariants::check_slices(const std::vector<PodView>& live,
                                 std::vector<std::string>& broken) const {
  for (const PodView& pod : live) {
    const std::string& name = pod->spec.node_name;
    const model::ChosenSlices chosen = model::slices_of_pod(pod->meta.annotations);
    node::SimulatedMachine* machine = cluster_.fleet().find(name);
    if (chosen.empty() || machine == nullptr || disturbed_.contains(name)) {
      continue;
    }
    node::GpuDevices gpus(&machine->inventory());
    for (const auto& [resource, held] : held_by_gpu(*machine, gpus, pod->meta.uid)) {
      const auto of_resource = chosen.find(resource);
      const model::CountByGpu wanted =
          of_resource == chosen.end() ? model::CountByGpu() : of_resource->second;
      const bool more = std::ranges::any_of(held, [&](const auto& each) {
        const auto gpu = wanted.find(each.first);
        return each.second > (gpu == wanted.end() ? 0 : gpu->second);
      });
      if (more && of_resource != chosen.end()) {
        broken.push_back(fmt::format("{}: {} were chosen for pod {}, it has {}", name,
                                     model::format_chosen_slices({{resource, wanted}}),
                                     pod->key().to_string(),
                                     model::format_chosen_slices({{resource, held}})));
      }
    }
  }
}

void GpuInvariants::check_when_quiet(const std::vector<PodView>& live,
                                     std::vector<std::string>& broken) const {
  const sched::ClusterState& state = cluster_.scheduler().state();
  auto promised = promised_slices(live);
  for (const std::string& name : cluster_.fleet().names()) {
    const auto id = state.find_node(name);
    for (const sched::ResourceSlices& slices :
         id ? state.node(*id).slices : std::vector<sched::ResourceSlices>()) {
      const std::string resource(state.resource_names().name(slices.resource));
      model::CountByGpu taken;
      for (std::size_t gpu = 0; gpu < sched::kMaxGpus; ++gpu) {
        if (slices.taken[gpu] > 0) {
          taken.emplace(static_cast<int>(gpu), slices.taken[gpu]);
        }
      }
      if (taken != promised[name][resource]) {
        broken.push_back(
            fmt::format("{}: the scheduler counts {}, pods were promised {}", name,
                        model::format_chosen_slices({{resource, taken}}),
                        model::format_chosen_slices({{resource, promised[name][resource]}})));
      }
    }
  }
}

} // namespace berth::sim
