#include "berth/deviceplugin/node_specs.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace berth::deviceplugin {
namespace {

std::string file_of(std::string_view device_class) {
  return fmt::format("k8s.device-plugin.nvidia.com-{}.json", device_class);
}

/// A class whose one device has files that all exist by the time it is used.
NodeSpec of_files(std::string_view device_class, std::string_view device,
                  const std::vector<std::string>& nodes, std::vector<cdi::Mount> mounts = {}) {
  cdi::Device made{.name = std::string(device)};
  for (const std::string& path : nodes) {
    made.edits.device_nodes.push_back({.path = path});
  }
  made.edits.mounts = std::move(mounts);
  cdi::Spec spec{.kind = plugin_kind(device_class), .devices = {std::move(made)}};
  spec.cdi_version = cdi::minimum_version(spec);
  return {.file = file_of(device_class), .spec = std::move(spec)};
}

cdi::Mount read_only(std::string path) {
  return {.host_path = path,
          .container_path = std::move(path),
          .options = {"ro", "nosuid", "nodev", "rbind", "rprivate"}};
}

NodeSpec gpu_spec(const std::vector<cdi::NvidiaGpu>& gpus, const inventory::NodeFacts& facts,
                  const Config& config, const DriverNodes& nodes) {
  const PluginFlags& flags = config.flags.plugin;
  const bool listed =
      flags.device_list_strategies.envvar || flags.device_list_strategies.volume_mounts;
  cdi::NvidiaSpecOptions options{
      .kind = std::string(cdi::kDevicePluginKind),
      .naming = {flags.device_id_strategy == DeviceIdStrategy::Index ? cdi::DeviceNaming::Index
                                                                     : cdi::DeviceNaming::Uuid},
      .all = cdi::AllDevice::LeftOut,
      .mig_parents = cdi::MigParents::Named,
      .visible_devices = listed ? cdi::VisibleDevices::FromPlugin : cdi::VisibleDevices::Void,
      .files = nodes.files,
      .control = nodes.control,
      .driver_root = config.flags.nvidia_driver_root,
      .dev_root = config.flags.nvidia_dev_root,
      .hook_program = flags.nvidia_ctk_path,
      .uvm_major = nodes.uvm_major,
      .caps_major = nodes.caps_major};
  if (!facts.driver.empty()) {
    options.driver_version = facts.driver;
  }
  return {.file = std::string(kCdiSpecFile), .spec = cdi::nvidia_spec(gpus, options)};
}

} // namespace

std::vector<cdi::NvidiaGpu> cdi_gpus(const inventory::NodeFacts& facts,
                                     const cdi::MigMinors& minors,
                                     std::vector<std::string>& without_capabilities) {
  std::vector<cdi::NvidiaGpu> gpus;
  for (const inventory::GpuFacts& gpu : facts.gpus) {
    cdi::NvidiaGpu& made = gpus.emplace_back();
    made.index = gpu.info.index;
    made.minor = gpu.info.minor;
    made.uuid = gpu.info.uuid;
    for (std::size_t i = 0; i < gpu.mig.size(); ++i) {
      const inventory::MigDevice& mig = gpu.mig[i];
      const auto gi = minors.gpu_instance(gpu.info.minor, mig.gpu_instance);
      const auto ci =
          minors.compute_instance(gpu.info.minor, mig.gpu_instance, mig.compute_instance);
      if (!gi || !ci) {
        without_capabilities.push_back(mig.uuid);
        continue;
      }
      made.mig.push_back({.index = static_cast<int>(i),
                          .uuid = mig.uuid,
                          .gpu_instance_cap = *gi,
                          .compute_instance_cap = *ci});
    }
  }
  return gpus;
}

NodeSpecs node_specs(const inventory::NodeFacts& facts, const Config& config,
                     const DriverNodes& nodes) {
  NodeSpecs out;
  if (facts.gpus.empty()) {
    return out;
  }
  const std::vector<cdi::NvidiaGpu> gpus = cdi_gpus(facts, nodes.mig, out.without_capabilities);
  out.specs.push_back(gpu_spec(gpus, facts, config, nodes));
  for (const Companion& companion : companions(config.flags, nodes)) {
    if (companion.files.empty()) {
      out.problems.push_back(fmt::format("{} is enabled, and this node has no device files of it",
                                         companion.device_class));
      continue;
    }
    std::vector<cdi::Mount> mounts;
    if (companion.device_class == "gds") {
      mounts = {read_only("/run/udev"), read_only("/etc/cufile.json")};
    }
    out.specs.push_back(
        of_files(companion.device_class, "all", companion.files, std::move(mounts)));
  }
  if (!nodes.imex_channels.empty()) {
    const std::int64_t channel = nodes.imex_channels.front();
    out.specs.push_back(
        of_files("imex-channel", fmt::to_string(channel),
                 {fmt::format("/dev/nvidia-caps-imex-channels/channel{}", channel)}));
  }
  return out;
}

} // namespace berth::deviceplugin
