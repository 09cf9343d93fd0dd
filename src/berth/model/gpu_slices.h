// Devices that are not whole GPUs, by the GPU they are on: replicas of GPUs that are shared in time
// (time slicing, MPS) and MIG devices. A node says how many there are of each resource on which
// GPU; a pod's annotation, from which GPUs its own were chosen.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/object.h"

namespace berth::model {

/// On a Node, by its agent:
/// "nvidia.com/gpu.shared=replicas:0x4,1x4;nvidia.com/mig-1g.10gb=mig:2x7". Devices in good health
/// alone. In place of "replicas:" may be "one-replica:" or "many-replicas:", see ReplicaLimit.
inline constexpr std::string_view kGpuDevicesAnnotation = "berth.dev/gpu-devices";
/// On a Pod, by the scheduler: "nvidia.com/mig-1g.10gb=2x2,3x1". Binding for Berth's own agent as
/// long as it can be had.
inline constexpr std::string_view kGpuSlicesAnnotation = "berth.dev/gpu-slices";

/// On a Node, by its agent: resources that device plugins give there and that no configuration
/// names, "nvidia.com/mig-1g.10gb,vendor.com/nic". Whoever finds it knows them from those that
/// somebody wrote into the status by hand.
inline constexpr std::string_view kPluginResourcesAnnotation = "berth.dev/plugin-resources";

enum class SliceKind {
  Replica, ///< of a GPU or of a MIG device: to be spread over the least used
  Mig,     ///< to be packed, so that GPUs stay free to be cut otherwise
};

/// How many by GPU index, 0..31; none is 0.
using CountByGpu = std::map<int, int>;

/// How many replicas of a resource the device plugin gives to one container. Rule of NVIDIA's: one,
/// with failRequestsGreaterThanOne, which is the default of MPS and not of time slicing.
enum class ReplicaLimit {
  ByStrategy,      ///< "replicas:", as that default has it
  None,            ///< "many-replicas:", any number
  OneToAContainer, ///< "one-replica:"
};

struct GpuSlices {
  SliceKind kind = SliceKind::Replica;
  ReplicaLimit limit = ReplicaLimit::ByStrategy; ///< of kind Replica
  CountByGpu there;

  bool operator==(const GpuSlices&) const = default;
};

/// By resource.
using NodeSlices = std::map<std::string, GpuSlices, std::less<>>;
using ChosenSlices = std::map<std::string, CountByGpu, std::less<>>;

/// "" for none.
std::string format_node_slices(const NodeSlices& slices);
std::string format_chosen_slices(const ChosenSlices& slices);
/// Empty for anything that the others did not write.
NodeSlices parse_node_slices(std::string_view text);
ChosenSlices parse_chosen_slices(std::string_view text);

NodeSlices slices_of_node(const api::Labels& annotations);
ChosenSlices slices_of_pod(const api::Labels& annotations);

/// Resources of which the node gives a container one at most, sorted: as its agent says and, where
/// it leaves that open or there is none, by GPU feature discovery's label
/// RESOURCE.sharing-strategy=mps. The label names what was shared: its replicas have that name or,
/// renamed by default, that with ".shared"; other names are known where the agent tells of them.
std::vector<std::string> one_replica_resources(const api::Labels& labels,
                                               const api::Labels& annotations);

} // namespace berth::model
