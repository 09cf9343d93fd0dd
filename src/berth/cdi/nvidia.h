// The CDI spec of a machine's NVIDIA GPUs: device nodes with their numbers, the driver's libraries
// and tools, the hooks that make them usable. Facts: nvidia-ctk cdi generate; device numbers of the
// NVIDIA driver (major 195).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cdi/spec.h"

namespace berth::cdi {

struct NvidiaGpu {
  int index = 0;
  int minor = 0;
  std::string uuid;
};

/// Naming of the devices in a spec.
enum class DeviceNaming {
  Uuid,         ///< GPU-...
  IndexAndUuid, ///< 0, GPU-..., and `all`, as nvidia-ctk's default
};

/// What the spec says of NVIDIA_VISIBLE_DEVICES, which a legacy runtime hook would act on.
enum class VisibleDevices {
  Void,       ///< "void": the hook adds nothing behind CDI
  FromPlugin, ///< nothing: the device plugin's list of UUIDs stands
};

struct NvidiaSpecOptions {
  std::string kind = "nvidia.com/gpu";
  DeviceNaming naming = DeviceNaming::IndexAndUuid;
  VisibleDevices visible_devices = VisibleDevices::Void;
  std::string driver_version = "580.95.05";
  std::string library_dir = "/usr/lib/x86_64-linux-gnu";
  std::int64_t uvm_major = 510; ///< dynamic: /proc/devices says it
};

inline constexpr std::int64_t kNvidiaMajor = 195;
inline constexpr std::int64_t kNvidiaCtlMinor = 255;
inline constexpr std::int64_t kNvidiaModesetMinor = 254;
/// The kind the stock device plugin uses for its own spec file.
inline constexpr std::string_view kDevicePluginKind = "k8s.device-plugin.nvidia.com/gpu";

/// A valid spec for at least one GPU.
Spec nvidia_spec(std::span<const NvidiaGpu> gpus, const NvidiaSpecOptions& options);

} // namespace berth::cdi
