// Which devices a pod's containers ask for, and in which order they are served.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/model/hami.h"
#include "berth/model/pod.h"
#include "berth/node/gpu_part.h"

namespace berth::node {

enum class Role {
  Init,    ///< runs to its end before the app containers
  Sidecar, ///< init container with restartPolicy Always: runs beside them
  App,
};
std::string_view to_string(Role role);

struct ContainerRef {
  const model::Container* container = nullptr;
  Role role = Role::App;
};
/// Init containers (and sidecars) first, each list in its order.
std::vector<ContainerRef> containers_of(const model::PodSpec& spec);

struct DeviceRequest {
  std::string container;
  Role role = Role::App;
  std::string resource;
  std::int64_t count = 0;
  std::optional<GpuParts> part; ///< of the devices; none: they are asked for whole. Where it is of
                                ///< single ones, it is these that are asked for
};
/// By container in order, then by resource name. Only resources that `is_device` accepts, from
/// limits.
std::vector<DeviceRequest> device_requests(const model::PodSpec& spec,
                                           const std::function<bool(std::string_view)>& is_device);

/// What the pod's containers ask of parts of GPUs (model/gpu_share.h), on a node with such GPUs.
/// Empty for a pod that asks for none. Error Invalid, naming the annotation: it cannot be meant.
Result<std::vector<DeviceRequest>> part_requests(const model::Pod& pod,
                                                 const model::ShareableGpus& node);

/// The vGPUs that were chosen for the pod's containers (model::hami::shares_to_give), on a node
/// with these GPUs. Empty for a pod that asks for none. Error Invalid: none were chosen, or what
/// was chosen is not of this node or not of what the pod asks.
Result<std::vector<DeviceRequest>> vgpu_requests(const model::Pod& pod,
                                                 const std::vector<model::hami::Device>& gpus);

} // namespace berth::node
