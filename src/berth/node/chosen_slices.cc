#include "berth/node/chosen_slices.h"

#include <algorithm>
#include <utility>

#include "berth/model/gpu_units.h"

namespace berth::node {
namespace {

constexpr int kNowhere = -1;

bool is_replica(std::string_view id) {
  return without_replica(id) != id;
}

bool is_mig(std::string_view id) {
  return id.starts_with("MIG-");
}

/// What is left of the choice once the pod's other containers have theirs.
model::CountByGpu left_of(const DeviceBook& book, const model::Pod& pod, const PickRequest& pick,
                          model::CountByGpu chosen) {
  for (const Holding* holding : book.ledger().of_pod(pod.meta.uid)) {
    if (holding->resource != pick.resource || holding->container == pick.container) {
      continue;
    }
    for (const std::string& id : holding->ids()) {
      const auto gpu = chosen.find(book.options().index_of_gpu(id).value_or(kNowhere));
      if (gpu != chosen.end() && !pick.reusable.contains(id)) {
        gpu->second = std::max(0, gpu->second - 1);
      }
    }
  }
  return chosen;
}

} // namespace

model::NodeSlices slices_of(const PluginEndpoints& plugins, GpuDevices& gpus,
                            model::ReplicaLimit limit) {
  model::NodeSlices slices;
  for (const std::string& resource : plugins.resources()) {
    if (!plugins.live(resource)) {
      continue;
    }
    for (const deviceplugin::Device& device : plugins.pool(resource)->devices()) {
      const auto gpu = gpus.gpu_of(device.id);
      if (!gpu || *gpu < 0 || *gpu >= model::kMaxGpus ||
          !(is_replica(device.id) || is_mig(device.id))) {
        continue;
      }
      model::GpuSlices& of_resource = slices[resource];
      of_resource.kind = is_replica(device.id) ? model::SliceKind::Replica : model::SliceKind::Mig;
      of_resource.limit = is_replica(device.id) ? limit : model::ReplicaLimit::ByStrategy;
      if (device.health == deviceplugin::kHealthy) {
        ++of_resource.there[*gpu];
      }
    }
  }
  return slices;
}

std::optional<std::vector<std::string>> chosen_slices(const DeviceBook& book, const model::Pod& pod,
                                                      const PickRequest& pick) {
  const model::ChosenSlices all = model::slices_of_pod(pod.meta.annotations);
  const auto chosen = all.find(pick.resource);
  if (chosen == all.end() || !book.options().index_of_gpu) {
    return std::nullopt;
  }
  model::CountByGpu left = left_of(book, pod, pick, chosen->second);
  std::vector<std::string> ids;
  // What init containers had comes first, so that as little as possible is held.
  for (const bool reused : {true, false}) {
    for (const std::string& id : pick.healthy) {
      const bool own = pick.reusable.contains(id);
      const auto gpu = left.find(book.options().index_of_gpu(id).value_or(kNowhere));
      if (own != reused || (!own && pick.held.contains(id)) || gpu == left.end() ||
          gpu->second == 0 || std::ssize(ids) == pick.required) {
        continue;
      }
      --gpu->second;
      ids.push_back(id);
    }
  }
  return std::ssize(ids) == pick.required ? std::optional(std::move(ids)) : std::nullopt;
}

} // namespace berth::node
