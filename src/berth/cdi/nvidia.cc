#include "berth/cdi/nvidia.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "berth/cdi/driver_numbers.h"

namespace berth::cdi {
namespace {

/// A path in the container, and where it is on the host if the driver is not installed at "/".
std::string below(std::string_view root, std::string_view path) {
  while (root.ends_with('/')) {
    root.remove_suffix(1);
  }
  return fmt::format("{}{}", root, path);
}

class Generator {
 public:
  Generator(std::span<const NvidiaGpu> gpus, const NvidiaSpecOptions& options)
      : gpus_(gpus), options_(options) {}

  Spec run() {
    spec_.kind = options_.kind;
    for (const NvidiaGpu& gpu : gpus_) {
      add_gpu(gpu);
    }
    if (options_.all == AllDevice::Named) {
      add("all", std::move(all_));
    }
    spec_.edits = shared_edits();
    spec_.cdi_version = minimum_version(spec_);
    return std::move(spec_);
  }

 private:
  DeviceNode node(std::string path) const {
    DeviceNode made{.path = std::move(path), .permissions = "rw"};
    if (std::string host = below(options_.dev_root, made.path); host != made.path) {
      made.host_path = std::move(host);
    }
    return made;
  }

  DeviceNode numbered(std::string path, std::int64_t major, std::int64_t minor) const {
    DeviceNode made = node(std::move(path));
    made.type = "c";
    made.major = major;
    made.minor = minor;
    return made;
  }

  void add(std::string name, ContainerEdits edits) {
    if (std::ranges::find(spec_.devices, name, &Device::name) == spec_.devices.end()) {
      spec_.devices.push_back({.name = std::move(name), .edits = std::move(edits)});
    }
  }

  /// Nodes of a device under each of its names, and as a part of `all`.
  void add_named(std::string_view type, std::string_view index, std::string_view uuid,
                 const std::vector<DeviceNode>& nodes) {
    for (const DeviceNaming naming : options_.naming) {
      switch (naming) {
      case DeviceNaming::Index:
        add(std::string(index), {.device_nodes = nodes});
        break;
      case DeviceNaming::Uuid:
        add(std::string(uuid), {.device_nodes = nodes});
        break;
      case DeviceNaming::TypeIndex:
        add(fmt::format("{}{}", type, index), {.device_nodes = nodes});
        break;
      }
    }
    for (const DeviceNode& each : nodes) {
      if (std::ranges::find(all_.device_nodes, each.path, &DeviceNode::path) ==
          all_.device_nodes.end()) {
        all_.device_nodes.push_back(each);
      }
    }
  }

  void add_gpu(const NvidiaGpu& gpu) {
    std::vector<DeviceNode> nodes{
        numbered(fmt::format("/dev/nvidia{}", gpu.minor), kNvidiaMajor, gpu.minor)};
    const DeviceNode own = nodes.front();
    for (const std::string& path : gpu.drm_nodes) {
      nodes.push_back(node(path)); // its numbers are found when it is applied
    }
    if (gpu.mig.empty() || options_.mig_parents == MigParents::Named) {
      add_named("gpu", fmt::to_string(gpu.index), gpu.uuid, nodes);
    }
    for (const NvidiaMig& mig : gpu.mig) {
      add_named("mig", fmt::format("{}:{}", gpu.index, mig.index), mig.uuid,
                {own, capability(mig.gpu_instance_cap), capability(mig.compute_instance_cap)});
    }
  }

  DeviceNode capability(std::int64_t minor) const {
    return numbered(capability_path(minor), options_.caps_major, minor);
  }

  Hook hook(std::string name, std::vector<std::string> arguments) const {
    const std::string& program = options_.hook_program;
    std::string own_name = program.substr(program.rfind('/') + 1);
    const bool of_toolkit = own_name == "nvidia-ctk";
    Hook made{.hook_name = "createContainer", .path = program};
    made.args = {std::move(own_name)};
    if (of_toolkit) {
      made.args.emplace_back("hook");
    }
    made.args.push_back(std::move(name));
    made.args.insert(made.args.end(), arguments.begin(), arguments.end());
    return made;
  }

  void mount(const std::vector<std::string>& paths, const std::vector<std::string>& mount_options,
             ContainerEdits& edits) const {
    for (const std::string& path : paths) {
      edits.mounts.push_back({.host_path = below(options_.driver_root, path),
                              .container_path = path,
                              .options = mount_options});
    }
  }

  ContainerEdits shared_edits() const {
    ContainerEdits edits;
    if (options_.visible_devices == VisibleDevices::Void) {
      edits.env.emplace_back("NVIDIA_VISIBLE_DEVICES=void");
    }
    edits.env.push_back(fmt::format("NVIDIA_CTK_LIBCUDA_DIR={}", options_.library_dir));
    edits.device_nodes = {numbered("/dev/nvidiactl", kNvidiaMajor, kNvidiaCtlMinor),
                          numbered("/dev/nvidia-modeset", kNvidiaMajor, kNvidiaModesetMinor),
                          numbered("/dev/nvidia-uvm", options_.uvm_major, 0),
                          numbered("/dev/nvidia-uvm-tools", options_.uvm_major, 1)};
    if (const auto& there = options_.control) {
      std::erase_if(edits.device_nodes, [&](const DeviceNode& each) {
        return std::ranges::find(*there, each.path) == there->end();
      });
    }
    const DriverFiles files =
        options_.files.value_or(usual_driver_files(options_.driver_version, options_.library_dir));
    const std::vector<std::string> read_only{"ro", "nosuid", "nodev", "rbind", "rprivate"};
    mount(files.libraries, read_only, edits);
    mount(files.tools, read_only, edits);
    mount(files.firmware, read_only, edits);
    mount(files.sockets, {"nosuid", "nodev", "rbind", "rprivate", "noexec"}, edits);
    if (files.libraries.empty()) {
      return edits; // nothing that a hook could be for
    }
    edits.hooks = {hook("create-symlinks", {"--link", fmt::format("libcuda.so.1::{}/libcuda.so",
                                                                  options_.library_dir)})};
    if (!options_.driver_version.empty()) {
      edits.hooks.push_back(hook("enable-cuda-compat", {fmt::format("--host-driver-version={}",
                                                                    options_.driver_version)}));
    }
    edits.hooks.push_back(hook("update-ldcache", {"--folder", options_.library_dir}));
    edits.hooks.push_back(hook("disable-device-node-modification", {}));
    return edits;
  }

  std::span<const NvidiaGpu> gpus_;
  const NvidiaSpecOptions& options_;
  Spec spec_;
  ContainerEdits all_;
};

} // namespace

DriverFiles usual_driver_files(std::string_view version, std::string_view library_dir) {
  constexpr std::array<std::string_view, 7> kLibraries{
      "libcuda.so",          "libcudadebugger.so",          "libnvidia-ml.so", "libnvidia-nvvm.so",
      "libnvidia-opencl.so", "libnvidia-ptxjitcompiler.so", "libnvidia-cfg.so"};
  DriverFiles files;
  for (const std::string_view library : kLibraries) {
    files.libraries.push_back(fmt::format("{}/{}.{}", library_dir, library, version));
  }
  files.tools = {"/usr/bin/nvidia-smi", "/usr/bin/nvidia-debugdump",
                 "/usr/bin/nvidia-persistenced"};
  return files;
}

Spec nvidia_spec(std::span<const NvidiaGpu> gpus, const NvidiaSpecOptions& options) {
  return Generator(gpus, options).run();
}

} // namespace berth::cdi
