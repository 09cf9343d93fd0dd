// The CDI spec of a machine's NVIDIA GPUs: device nodes with their numbers, the driver's libraries
// and tools, the hooks that make them usable. Facts: nvidia-ctk cdi generate; device numbers of the
// NVIDIA driver (major 195).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cdi/spec.h"

namespace berth::cdi {

/// A MIG device, with the minors of the capability files that open it.
struct NvidiaMig {
  int index = 0; ///< on its GPU
  std::string uuid;
  std::int64_t gpu_instance_cap = 0;
  std::int64_t compute_instance_cap = 0;
};

struct NvidiaGpu {
  int index = 0;
  int minor = 0;
  std::string uuid;
  std::vector<std::string> drm_nodes = {}; ///< "/dev/dri/card1", "/dev/dri/renderD129"
  std::vector<NvidiaMig> mig = {};
};

/// What names a device. A MIG device is "0:1" by index.
enum class DeviceNaming {
  Index,     ///< 0
  Uuid,      ///< GPU-...
  TypeIndex, ///< gpu0, mig0:1
};

/// Whether there is a device `all`, which is every other together.
enum class AllDevice { Named, LeftOut };

/// Whether a GPU that has MIG devices is a device itself.
enum class MigParents { LeftOut, Named };

/// What the spec says of NVIDIA_VISIBLE_DEVICES, which a legacy runtime hook would act on.
enum class VisibleDevices {
  Void,       ///< "void": the hook adds nothing behind CDI
  FromPlugin, ///< nothing: the device plugin's list of UUIDs stands
};

/// The driver's files on the host, as containers see them.
struct DriverFiles {
  std::vector<std::string> libraries;
  std::vector<std::string> tools;
  std::vector<std::string> firmware;
  std::vector<std::string> sockets;
};

/// Those that a driver of this version certainly has.
DriverFiles usual_driver_files(std::string_view version, std::string_view library_dir);

struct NvidiaSpecOptions {
  std::string kind = "nvidia.com/gpu";
  std::vector<DeviceNaming> naming = {DeviceNaming::Index, DeviceNaming::Uuid};
  AllDevice all = AllDevice::Named;
  MigParents mig_parents = MigParents::LeftOut;
  VisibleDevices visible_devices = VisibleDevices::Void;
  std::string driver_version = "580.95.05";
  std::string library_dir = "/usr/lib/x86_64-linux-gnu";
  std::optional<DriverFiles> files = {}; ///< nothing: the usual ones of the version
  /// The driver's own device files that there are, of nvidiactl, nvidia-modeset, nvidia-uvm and
  /// nvidia-uvm-tools; nothing: all of them.
  std::optional<std::vector<std::string>> control = {};
  std::string driver_root = {}; ///< on the host, before every path of a file; "" for "/"
  std::string dev_root = {};    ///< likewise before device nodes
  std::string hook_program = "/usr/bin/nvidia-cdi-hook"; ///< or nvidia-ctk
  std::int64_t uvm_major = 510;                          ///< dynamic: /proc/devices says it
  std::int64_t caps_major = 508;                         ///< likewise
};

inline constexpr std::int64_t kNvidiaMajor = 195;
inline constexpr std::int64_t kNvidiaCtlMinor = 255;
inline constexpr std::int64_t kNvidiaModesetMinor = 254;
/// The kind the stock device plugin uses for its own spec file.
inline constexpr std::string_view kDevicePluginKind = "k8s.device-plugin.nvidia.com/gpu";

/// A valid spec for at least one GPU and at least one naming. Two namings that give one name count
/// once.
Spec nvidia_spec(std::span<const NvidiaGpu> gpus, const NvidiaSpecOptions& options);

} // namespace berth::cdi
