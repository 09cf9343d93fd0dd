// Parts of GPUs: so many thousandths, or so much memory, of each of n GPUs of one of several
// models. A pod asks in one of these dialects:
// - Alibaba's gpu-share extensions: annotations alibabacloud.com/gpu-milli, gpu-mem, gpu-count,
//   gpu-card-model (spec simulators A.1), or the extended resource aliyun.com/gpu-mem; a node says
//   what it has by extended resources of the same names and a label;
// - KAI and Run:ai: annotations gpu-fraction or gpu-memory, gpu-fraction-num-devices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/model/node.h"
#include "berth/model/pod.h"

namespace berth::model {

/// Thousandths of each GPU, 1..1000. On a node, as a resource: of all its GPUs together.
inline constexpr std::string_view kGpuMilli = "alibabacloud.com/gpu-milli";
/// Memory of each GPU, a quantity in bytes. On a node, as a resource: of all its GPUs together.
inline constexpr std::string_view kGpuMem = "alibabacloud.com/gpu-mem";
/// How many GPUs; absent: 1.
inline constexpr std::string_view kGpuCount = "alibabacloud.com/gpu-count";
/// Models that will do, "A|B"; absent or empty: any. On a node, a label: its model.
inline constexpr std::string_view kGpuCardModel = "alibabacloud.com/gpu-card-model";
/// What was chosen, "0-1-2".
inline constexpr std::string_view kGpuIndex = "alibabacloud.com/gpu-index";
/// Memory of one GPU in the node's unit: MiB where a GPU has 1024 units or more, else GiB.
inline constexpr std::string_view kAliyunGpuMem = "aliyun.com/gpu-mem";
inline constexpr std::string_view kAliyunGpuCount = "aliyun.com/gpu-count";
/// KAI: a part of each GPU, "0.5"; above 0 and below 1.
inline constexpr std::string_view kGpuFraction = "gpu-fraction";
/// KAI: memory of each GPU in MiB.
inline constexpr std::string_view kGpuMemoryMib = "gpu-memory";
/// KAI: how many GPUs; absent: 1.
inline constexpr std::string_view kGpuFractionDevices = "gpu-fraction-num-devices";
/// KAI: the container that the part is for; absent: the first of spec.containers.
inline constexpr std::string_view kGpuFractionContainer = "gpu-fraction-container-name";

/// What a pod asks of each of `gpus` distinct GPUs of one node.
struct GpuShare {
  int gpus = 0; ///< 0: the pod asks for no part of a GPU
  int milli = 0;
  std::int64_t memory = 0;       ///< bytes
  std::int64_t memory_units = 0; ///< of aliyun.com/gpu-mem
  std::vector<std::string> models = {};
  std::vector<int> indices =
      {}; ///< kGpuIndex, ascending and distinct; empty if absent or unreadable

  bool operator==(const GpuShare&) const = default;
};

/// `requests` are the pod's effective ones. Error Invalid, naming the annotation, its value and
/// what would do.
Result<GpuShare> gpu_share_of(const Pod& pod, const ResourceList& requests);

/// What one container has of each of its pod's GPUs.
struct ContainerShare {
  std::string container;
  int milli = 0;
  std::int64_t memory = 0;       ///< bytes
  std::int64_t memory_units = 0; ///< of aliyun.com/gpu-mem

  bool operator==(const ContainerShare&) const = default;
};

/// Which containers of the pod have what of its share: those with aliyun.com/gpu-mem their own
/// amount, and the first of them what annotations ask for; else the one that kGpuFractionContainer
/// names, or the first of spec.containers, all of it. Empty if the share is. Error Invalid: the
/// named container is not there.
Result<std::vector<ContainerShare>> container_shares(const Pod& pod, const GpuShare& share);

/// GPUs of a node that can be shared.
struct ShareableGpus {
  int gpus = 0;                 ///< 0: the node says nothing of sharing
  std::int64_t memory = 0;      ///< bytes of each; 0: unknown
  std::int64_t memory_unit = 0; ///< bytes of one aliyun.com/gpu-mem; 0: the node has none
  std::string model;            ///< "": unknown

  bool operator==(const ShareableGpus&) const = default;
};

/// From allocatable and labels; nonsense (negative, more than 32 GPUs) counts as absent, and so
/// does nvidia.com/gpu where labels, or HAMi's device plugin, say that it does not stand for whole
/// GPUs. The model is that of kGpuCardModel, else of nvidia.com/gpu.product; memory, else of
/// nvidia.com/gpu.memory (MiB).
ShareableGpus shareable_gpus(const Node& node);
/// As if `gpu_resource` were the node's allocatable nvidia.com/gpu.
ShareableGpus shareable_gpus(const Node& node, std::int64_t gpu_resource);

/// "0-1-2", ascending.
std::string format_gpu_index(const std::vector<int>& indices);

} // namespace berth::model
