// What a pod's container is made with: environment, mounts, devices, labels. Pure: from the pod's
// document and what its devices add. Layout of labels, annotations and volume directories as the
// kubelet has it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/object.h"
#include "berth/base/time.h"
#include "berth/deviceplugin/contract.h"
#include "berth/model/pod.h"
#include "berth/node/contents/container_contents.h"
#include "berth/node/device_request.h"
#include "berth/runtime/runtime.h"

namespace berth::node {

struct ContainerPlan {
  const model::Container* container = nullptr;
  Role role = Role::App;
  std::uint32_t attempt = 0;
  Duration restart_delay;
  deviceplugin::ContainerAllocateResponse edits;
  std::map<std::string, std::vector<std::string>>
      devices;                   ///< resource to ids: remembered by the runtime
  std::optional<GpuParts> part;  ///< of its GPUs, likewise; none: it has them whole
  std::string cpuset_cpus;       ///< "": any
  std::string cpuset_mems;       ///< "": any
  std::string cpus_annotation;   ///< CPUs of its own, remembered by the runtime
  std::string memory_annotation; ///< memory of its own, likewise
  std::string pod_ip;
  std::string host_ip;
  /// On a machine with GPUs a container without one says so to whatever reads
  /// NVIDIA_VISIBLE_DEVICES.
  enum class GpuMachine { No, Yes } gpu_machine = GpuMachine::No;
  /// Of a real machine: in place of the environment and the mounts that the document alone gives.
  const ContainerContents* contents = nullptr;
};

/// The environment is the devices' first, then the pod's, except that nobody but the device plugin
/// decides on NVIDIA_VISIBLE_DEVICES. Command and arguments have their $(NAME) references replaced.
runtime::ContainerConfig make_container_config(const api::Object& pod, const model::Pod& view,
                                               const ContainerPlan& plan);
runtime::SandboxConfig make_sandbox_config(const model::Pod& pod, std::uint32_t attempt);

/// Container annotation with the devices it holds: "nvidia.com/gpu=GPU-a,GPU-b;other.com/x=1".
inline constexpr std::string_view kDevicesAnnotation = "berth.dev/devices";
std::string format_devices(const std::map<std::string, std::vector<std::string>>& devices);
std::map<std::string, std::vector<std::string>> parse_devices(std::string_view text);

/// Container and sandbox annotation with the pod's own grace in seconds, for ending pods nobody
/// knows any more.
inline constexpr std::string_view kGraceAnnotation = "io.kubernetes.pod.terminationGracePeriod";

} // namespace berth::node
