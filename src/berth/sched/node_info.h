// What the scheduler knows of one node: its object and the running totals of the pods on it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "berth/hardware/choose.h"
#include "berth/hardware/platform.h"
#include "berth/model/gpu_slices.h"
#include "berth/model/gpu_units.h"
#include "berth/model/node.h"
#include "berth/sched/pod_info.h"
#include "berth/sched/resources.h"

namespace berth::sched {

using model::kMaxGpus;

/// GPUs of a node that pods may take parts of, and what is taken (gpu_parts.h says what is left).
struct GpuParts {
  hardware::GpuMask all = 0;    ///< the lowest indices, less those that are cut or replicated
  std::int64_t unplaced = 0;    ///< pods that hold parts of GPUs nobody knows
  std::int64_t memory = 0;      ///< bytes of each GPU; 0: unknown
  std::int64_t memory_unit = 0; ///< bytes of an aliyun.com/gpu-mem; 0: none
  GpuModelId model;
  std::array<std::int16_t, kMaxGpus> milli{};        ///< taken of each
  std::array<std::int64_t, kMaxGpus> memory_taken{}; ///< bytes

  bool operator==(const GpuParts&) const = default;
};

/// GPUs of a node one by one. `all` is empty where indices are unknown; GPUs are then counted by
/// NodeResourcesFit alone.
struct NodeGpus {
  hardware::GpuMask all = 0;
  hardware::GpuMask unhealthy = 0;        ///< annotation berth.dev/unhealthy-gpus
  hardware::GpuMask held = 0;             ///< indices some pod holds whole
  hardware::GpuMask shared = 0;           ///< indices some pods hold parts of
  std::int64_t unplaced = 0;              ///< GPUs held by pods whose indices are not known
  bool vgpus = false;                     ///< nvidia.com/gpu is a number of HAMi's vGPUs
  std::array<PodSlot, kMaxGpus> holder{}; ///< valid where the bit of `held` is set

  /// Neither held, shared nor unhealthy. With unplaced > 0 some of them are taken too, which is not
  /// known.
  hardware::GpuMask free() const { return all & ~held & ~shared & ~unhealthy; }
  bool operator==(const NodeGpus&) const = default;
};

/// Devices of one resource that are replicas of the node's GPUs or lie on them: how many there are
/// in good health on each, and how many pods have of which it is known (slice_choice.h).
struct ResourceSlices {
  ResourceId resource;
  model::SliceKind kind = model::SliceKind::Replica;
  std::array<std::int16_t, kMaxGpus> there{};
  std::array<std::int16_t, kMaxGpus> taken{};
  std::int64_t unplaced = 0; ///< held by pods whose choice is not known

  bool operator==(const ResourceSlices&) const = default;
};

/// Invariant: totals equal the sums over `pods`. What filters read for every node comes first.
struct NodeInfo {
  NodeId id;
  bool unschedulable = false;    ///< spec.unschedulable
  std::uint16_t hard_taints = 0; ///< taints with effect NoSchedule or NoExecute
  std::uint16_t soft_taints = 0; ///< taints with effect PreferNoSchedule
  std::int64_t nominated = 0;    ///< pods nominated to this node (ClusterState::nominated_to)
  std::int64_t allowed_pods = 0;
  std::vector<PodSlot> pods;       ///< in order of arrival
  std::int64_t nonzero_cpu = 0;    ///< sum of the pods' nonzero_cpu
  std::int64_t nonzero_memory = 0; ///< sum of the pods' nonzero_memory
  Resources allocatable;
  Resources requested;
  std::shared_ptr<const model::Node> node; ///< null: imaginary, its object is gone but pods remain
  const hardware::Platform* platform = nullptr; ///< Catalogue::of_node; null if unknown
  std::vector<ImageId> images;                  ///< sorted
  std::vector<HostPort> used_ports;             ///< sorted, with repeats
  std::int64_t pods_with_affinity = 0;
  std::uint64_t generation = 0; ///< of the last change; grows over all nodes
  std::uint64_t arrival = 0;    ///< orders nodes as ClusterState::nodes() does
  NodeGpus gpus;
  GpuParts parts;
  std::vector<ResourceSlices> slices; ///< annotation berth.dev/gpu-devices
  /// Resources of which a container gets one at most; see model::one_replica_resources.
  std::vector<ResourceId> one_replica;

  const std::string& name() const { return node->meta.name; }
  const api::Labels& labels() const { return node->meta.labels; }
};

/// Does the wanted port clash with one in use? Same protocol and port, and same ip or either
/// "0.0.0.0".
bool clashes(const std::vector<HostPort>& used, const HostPort& wanted);

} // namespace berth::sched
