// Names of things inside the deciding wing: dense ids for nodes, pods and resources, and how
// amounts are counted (cpu in milli, everything else in whole units), as kube-scheduler's NodeInfo
// does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "berth/api/quantity.h"
#include "berth/base/id.h"

namespace berth::sched {

/// Interned by node name: a node that returns gets its old id again.
using NodeId = Id<struct NodeTag>;
/// A pod's slot in ClusterState; reused after the pod is gone. Pods are named by uid outside.
using PodSlot = Id<struct PodSlotTag>;
/// Interned by resource name. The four below are always the same.
using ResourceId = Id<struct ResourceTag>;

/// Interned by what scheduling can depend on (shape.h).
using ShapeId = Id<struct ShapeTag>;
/// Interned by (normalised) image reference.
using ImageId = Id<struct ImageTag>;
/// Interned by GPU model, as nodes name theirs.
using GpuModelId = Id<struct GpuModelTag>;
/// Interned by (anti-)affinity terms (affinity_terms.h).
using TermsId = Id<struct TermsTag>;

inline constexpr ResourceId kCpu{0};
inline constexpr ResourceId kMemory{1};
inline constexpr ResourceId kEphemeralStorage{2};
inline constexpr ResourceId kGpu{3}; ///< nvidia.com/gpu
/// Resources whose amounts a node keeps inline; others are in a sorted list.
inline constexpr std::uint32_t kInlineResources = 4;

using ResourceNames = Interner<ResourceId>;
/// An interner that already knows the four inline resources.
ResourceNames make_resource_names();

/// Counted by the scheduler: cpu, memory, ephemeral-storage, hugepages-*, attachable-volumes-* and
/// every name with a domain. "pods" has its own slot; unknown bare names are ignored.
bool is_counted_resource(std::string_view name);
/// Extended: a domain outside *kubernetes.io and no "requests." prefix.
bool is_extended_resource(std::string_view name);
/// cpu in milli, everything else Value().
std::int64_t amount_of(std::string_view name, const api::Quantity& quantity);

} // namespace berth::sched
