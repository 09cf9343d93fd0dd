#include "berth/cdi/nvidia.h"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace berth::cdi {
namespace {

DeviceNode character_device(std::string path, std::int64_t major, std::int64_t minor) {
  return {
      .path = std::move(path), .type = "c", .major = major, .minor = minor, .permissions = "rw"};
}

Mount driver_mount(std::string path) {
  return {.host_path = path,
          .container_path = std::move(path),
          .options = {"ro", "nosuid", "nodev", "rbind", "rprivate"}};
}

constexpr std::array<std::string_view, 7> kLibraries{
    "libcuda.so",          "libcudadebugger.so",          "libnvidia-ml.so", "libnvidia-nvvm.so",
    "libnvidia-opencl.so", "libnvidia-ptxjitcompiler.so", "libnvidia-cfg.so"};
constexpr std::array<std::string_view, 3> kTools{"/usr/bin/nvidia-smi", "/usr/bin/nvidia-debugdump",
                                                 "/usr/bin/nvidia-persistenced"};

Hook cdi_hook(std::string name, std::vector<std::string> arguments) {
  Hook hook{.hook_name = "createContainer", .path = "/usr/bin/nvidia-cdi-hook"};
  hook.args = {"nvidia-cdi-hook", std::move(name)};
  hook.args.insert(hook.args.end(), arguments.begin(), arguments.end());
  return hook;
}

ContainerEdits shared_edits(const NvidiaSpecOptions& options) {
  ContainerEdits edits;
  if (options.visible_devices == VisibleDevices::Void) {
    edits.env.push_back("NVIDIA_VISIBLE_DEVICES=void");
  }
  edits.env.push_back(fmt::format("NVIDIA_CTK_LIBCUDA_DIR={}", options.library_dir));
  edits.device_nodes = {character_device("/dev/nvidiactl", kNvidiaMajor, kNvidiaCtlMinor),
                        character_device("/dev/nvidia-modeset", kNvidiaMajor, kNvidiaModesetMinor),
                        character_device("/dev/nvidia-uvm", options.uvm_major, 0),
                        character_device("/dev/nvidia-uvm-tools", options.uvm_major, 1)};
  for (const std::string_view library : kLibraries) {
    edits.mounts.push_back(driver_mount(
        fmt::format("{}/{}.{}", options.library_dir, library, options.driver_version)));
  }
  for (const std::string_view tool : kTools) {
    edits.mounts.push_back(driver_mount(std::string(tool)));
  }
  edits.hooks = {cdi_hook("create-symlinks", {"--link", fmt::format("libcuda.so.1::{}/libcuda.so",
                                                                    options.library_dir)}),
                 cdi_hook("update-ldcache", {"--folder", options.library_dir}),
                 cdi_hook("disable-device-node-modification", {})};
  return edits;
}

} // namespace

Spec nvidia_spec(std::span<const NvidiaGpu> gpus, const NvidiaSpecOptions& options) {
  Spec spec{.kind = options.kind};
  Device all{.name = "all"};
  for (const NvidiaGpu& gpu : gpus) {
    const DeviceNode node =
        character_device(fmt::format("/dev/nvidia{}", gpu.minor), kNvidiaMajor, gpu.minor);
    if (options.naming == DeviceNaming::IndexAndUuid) {
      spec.devices.push_back(
          {.name = std::to_string(gpu.index), .edits = {.device_nodes = {node}}});
    }
    spec.devices.push_back({.name = gpu.uuid, .edits = {.device_nodes = {node}}});
    all.edits.device_nodes.push_back(node);
  }
  if (options.naming == DeviceNaming::IndexAndUuid) {
    spec.devices.push_back(std::move(all));
  }
  spec.edits = shared_edits(options);
  spec.cdi_version = minimum_version(spec);
  return spec;
}

} // namespace berth::cdi
