// HAMi's words: vGPUs of NVIDIA GPUs by number, memory and cores (project-hami.io, NVIDIA devices).
// - A container asks in limits: nvidia.com/gpu (how many distinct GPUs), nvidia.com/gpumem (MiB of
//   each) or nvidia.com/gpumem-percentage, nvidia.com/gpucores (percent of each).
// - Its device plugin says what a node has in annotation hami.io/node-nvidia-register, and that it
//   lives, when the scheduler asks for that, in hami.io/node-handshake.
// - Its scheduler says what a pod has in hami.io/vgpu-devices-to-allocate and -allocated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/model/node.h"
#include "berth/model/pod.h"

namespace berth::model::hami {

inline constexpr std::string_view kMemory = "nvidia.com/gpumem";
inline constexpr std::string_view kMemoryPercentage = "nvidia.com/gpumem-percentage";
inline constexpr std::string_view kCores = "nvidia.com/gpucores";

inline constexpr std::string_view kRegister = "hami.io/node-nvidia-register";
inline constexpr std::string_view kHandshake = "hami.io/node-handshake";
/// On a Node, of the pod that its scheduler binds there: "TIME,NAMESPACE,NAME", or the time alone.
inline constexpr std::string_view kLock = "hami.io/mutex.lock";
/// On a Node: an agent of Berth registered its GPUs, and takes that back when it no longer shares
/// them. HAMi does not know it.
inline constexpr std::string_view kRegisteredBy = "berth.dev/hami-registered";
inline constexpr std::string_view kToAllocate = "hami.io/vgpu-devices-to-allocate";
inline constexpr std::string_view kAllocated = "hami.io/vgpu-devices-allocated";
inline constexpr std::string_view kNode = "hami.io/vgpu-node";
/// "allocating" at binding, then, by the device plugin, "success" or "failed".
inline constexpr std::string_view kBindPhase = "hami.io/bind-phase";
inline constexpr std::string_view kAllocating = "allocating";
inline constexpr std::string_view kBindTime = "hami.io/bind-time"; ///< unix seconds
inline constexpr std::string_view kNodePolicy = "hami.io/node-scheduler-policy";
inline constexpr std::string_view kGpuPolicy = "hami.io/gpu-scheduler-policy";
/// Lists by comma. Of types, parts of names in any case; of UUIDs, whole ones.
inline constexpr std::string_view kUseType = "nvidia.com/use-gputype";
inline constexpr std::string_view kNoUseType = "nvidia.com/nouse-gputype";
inline constexpr std::string_view kUseUuid = "nvidia.com/use-gpuuuid";
inline constexpr std::string_view kNoUseUuid = "nvidia.com/nouse-gpuuuid";
inline constexpr std::string_view kNumaBind = "nvidia.com/numa-bind"; ///< "true"
inline constexpr std::string_view kMode = "nvidia.com/vgpu-mode";

/// A GPU as the device plugin registers it.
struct Device {
  std::string uuid;
  int count = 0;           ///< how many containers may share it
  std::int64_t memory = 0; ///< MiB
  int cores = 0;           ///< percent
  std::string type;        ///< "NVIDIA-NVIDIA A100-SXM4-40GB"
  int numa = 0;
  bool healthy = true;
  int index = 0;
  std::string mode = "hami-core";

  bool operator==(const Device&) const = default;
};

/// What a container asks of each of `gpus` distinct GPUs.
struct Request {
  int gpus = 0;
  std::int64_t memory = 0;   ///< MiB; 0: by percentage
  int memory_percentage = 0; ///< of the GPU's
  int cores = 0;             ///< percent

  std::int64_t memory_of(const Device& device) const {
    constexpr std::int64_t kPercent = 100;
    return memory > 0 ? memory : device.memory * memory_percentage / kPercent;
  }
  bool operator==(const Request&) const = default;
};

/// A container's share of a GPU.
struct Share {
  std::string uuid;
  std::int64_t memory = 0; ///< MiB
  int cores = 0;

  bool operator==(const Share&) const = default;
};
/// By container: init containers, if the pod has any, then the others.
using PodShares = std::vector<std::vector<Share>>;

/// In the order of PodShares; empty if no container asks for anything. Memory or cores without a
/// number of GPUs are of one. Without memory all of it is meant. Error Invalid, naming container
/// and resource: an amount that cannot be.
Result<std::vector<Request>> requests_of(const Pod& pod);

/// A JSON list, as releases from 2.7 on write it; or "GPU-a,10,40960,100,NVIDIA-A100,0,true,0,
/// hami-core:GPU-b,...:", before 2.5 with seven fields without index and mode, which are then the
/// place in the list and "hami-core". Empty if it is absent or makes no sense.
std::vector<Device> devices_of(const Node& node);
/// The JSON list.
std::string encode_devices(const std::vector<Device>& devices);
/// nvidia.com/gpu of the node is a number of vGPUs.
bool shares_gpus(const Node& node);

/// "GPU-a,NVIDIA,1000,30:;;": devices end in ':', containers in ';'.
std::string encode_shares(const PodShares& shares);
/// nullopt for anything else.
std::optional<PodShares> decode_shares(std::string_view text);
/// What annotation kAllocated says; none if it is absent or makes no sense.
std::optional<PodShares> shares_of(const Pod& pod);
/// What the node is to give: annotation kToAllocate's, of which HAMi's device plugin takes away
/// what it has given, else kAllocated's. Error Invalid, which says what to do: neither is there, or
/// it is not of what the containers ask.
Result<PodShares> shares_to_give(const Pod& pod);

} // namespace berth::model::hami
