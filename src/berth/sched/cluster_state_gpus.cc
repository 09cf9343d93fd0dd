// ClusterState: which GPUs of a node pods hold, whole or in part.
#include "berth/sched/cluster_state.h"

#include <algorithm>
#include <bit>

#include "berth/base/assert.h"
#include "berth/sched/gpu_parts.h"

namespace berth::sched {
namespace {

/// Adds the share to what is taken of each of the GPUs, or with sign -1 takes it away.
void count_parts(NodeInfo& node, const model::GpuShare& share, hardware::GpuMask gpus, int sign) {
  const std::int64_t memory = memory_wanted(share, node.parts);
  for (hardware::GpuMask rest = gpus; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(rest));
    node.parts.milli[i] = static_cast<std::int16_t>(node.parts.milli[i] + sign * share.milli);
    node.parts.memory_taken[i] += sign * memory;
    const hardware::GpuMask bit = hardware::GpuMask{1} << i;
    const bool in_use = node.parts.milli[i] != 0 || node.parts.memory_taken[i] != 0;
    node.gpus.shared = in_use ? node.gpus.shared | bit : node.gpus.shared & ~bit;
  }
}

/// What other pods of known GPUs leave; no presumption.
bool have_room(const NodeInfo& node, const model::GpuShare& share, hardware::GpuMask gpus) {
  const std::int64_t memory = memory_wanted(share, node.parts);
  for (hardware::GpuMask rest = gpus; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(rest));
    if (node.parts.milli[i] + share.milli > kWholeGpuMilli ||
        (memory > 0 && node.parts.memory_taken[i] + memory > node.parts.memory)) {
      return false;
    }
  }
  return true;
}

} // namespace

void ClusterState::count_supply(const GpuParts& parts, std::int64_t sign) {
  if (parts.model.valid()) {
    gpu_supply_.resize(gpu_models_.size(), 0);
    gpu_supply_[parts.model.index()] += sign * std::popcount(parts.all);
    ++gpu_supply_version_;
  }
}

void ClusterState::take_parts(NodeInfo& node, PlacedPod& placed) {
  const model::GpuShare& share = *placed.pod->share;
  placed.parts_known = std::popcount(placed.gpus) == share.gpus &&
                       (placed.gpus & ~(node.parts.all & ~node.gpus.held)) == 0 &&
                       have_room(node, share, placed.gpus);
  if (placed.parts_known) {
    count_parts(node, share, placed.gpus, 1);
  } else {
    ++node.parts.unplaced;
  }
}

void ClusterState::give_back_parts(NodeInfo& node, PlacedPod& placed) {
  const model::GpuShare& share = *placed.pod->share;
  if (placed.parts_known) {
    count_parts(node, share, placed.gpus, -1);
  } else {
    --node.parts.unplaced;
  }
  placed.parts_known = false;
}

void ClusterState::set_slices(NodeInfo& node) {
  for (const ResourceSlices& slices : node.slices) {
    --slice_nodes_[slices.resource.index()];
  }
  node.slices.clear();
  node.one_replica.clear();
  if (!node.node) {
    return;
  }
  const api::ObjectMeta& meta = node.node->meta;
  for (const auto& resource : model::one_replica_resources(meta.labels, meta.annotations)) {
    node.one_replica.push_back(resources_.intern(resource));
  }
  for (const auto& [resource, slices] : model::slices_of_node(meta.annotations)) {
    ResourceSlices& made =
        node.slices.emplace_back(ResourceSlices{.resource = resources_.intern(resource),
                                                .kind = slices.kind,
                                                .there = {},
                                                .taken = {},
                                                .unplaced = 0});
    slice_nodes_.resize(std::max<std::size_t>(slice_nodes_.size(), made.resource.index() + 1));
    ++slice_nodes_[made.resource.index()];
    if (made.resource == kGpu && node.platform == nullptr) {
      node.parts.all = 0; // how many GPUs nvidia.com/gpu stands for is not known
    }
    for (const auto& [gpu, count] : slices.there) {
      made.there[static_cast<std::size_t>(gpu)] = static_cast<std::int16_t>(count);
      // Such a GPU is no device by itself: it is given neither whole nor in parts.
      const hardware::GpuMask bit = hardware::GpuMask{1} << gpu;
      node.gpus.all &= ~bit;
      node.parts.all &= ~bit;
    }
  }
}

/// Adds what the pod has to what is taken, or with sign -1 takes it away.
void ClusterState::count_slices(NodeInfo& node, const PlacedPod& placed, std::int64_t sign) {
  for (ResourceSlices& slices : node.slices) {
    const std::int64_t amount = placed.pod->request(slices.resource);
    if (amount == 0) {
      continue;
    }
    const model::CountByGpu* chosen = nullptr;
    if (placed.slices != nullptr) {
      const auto found = placed.slices->find(resources_.name(slices.resource));
      chosen = found == placed.slices->end() ? nullptr : &found->second;
    }
    std::int64_t known = 0;
    for (const auto& [gpu, count] : chosen ? *chosen : model::CountByGpu()) {
      known += count;
    }
    if (known != amount) {
      slices.unplaced += sign * amount;
      continue;
    }
    for (const auto& [gpu, count] : *chosen) {
      std::int16_t& taken = slices.taken[static_cast<std::size_t>(gpu)];
      taken = static_cast<std::int16_t>(taken + sign * count);
    }
  }
}

void ClusterState::take_gpus(NodeInfo& node, PodSlot slot) {
  PlacedPod& placed = pods_[slot.index()];
  count_slices(node, placed, 1);
  if (placed.pod->share != nullptr) {
    take_parts(node, placed);
    return;
  }
  hardware::GpuMask known = placed.gpus & node.gpus.all & ~node.gpus.held & ~node.gpus.shared;
  node.gpus.held |= known;
  for (hardware::GpuMask rest = known; rest != 0; rest &= rest - 1) {
    node.gpus.holder[static_cast<std::size_t>(__builtin_ctz(rest))] = slot;
  }
  node.gpus.unplaced += std::max<std::int64_t>(0, placed.pod->gpus - __builtin_popcount(known));
}

void ClusterState::release_gpus(NodeInfo& node, PodSlot slot) {
  PlacedPod& placed = pods_[slot.index()];
  count_slices(node, placed, -1);
  if (placed.pod->share != nullptr) {
    give_back_parts(node, placed);
    return;
  }
  int known = 0;
  for (hardware::GpuMask rest = placed.gpus & node.gpus.held; rest != 0; rest &= rest - 1) {
    const auto index = static_cast<std::size_t>(__builtin_ctz(rest));
    if (node.gpus.holder[index] == slot) {
      node.gpus.holder[index] = PodSlot();
      node.gpus.held &= ~(hardware::GpuMask{1} << index);
      ++known;
    }
  }
  node.gpus.unplaced -= std::max<std::int64_t>(0, placed.pod->gpus - known);
}

} // namespace berth::sched
