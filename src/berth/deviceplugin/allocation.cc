#include "berth/deviceplugin/allocation.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/cdi/spec.h"

namespace berth::deviceplugin {
namespace {

constexpr std::string_view kVisibleDevices = "NVIDIA_VISIBLE_DEVICES";
constexpr std::string_view kMountsRoot = "/var/run/nvidia-container-devices";

tl::unexpected<Error> refused(const AllocationRequest& request, std::string_view why) {
  return fail(Code::Invalid, fmt::format("invalid allocation request for \"{}\": invalid request: "
                                         "{}",
                                         request.resource.name, why));
}

std::string below(std::string_view root, std::string_view path) {
  while (root.ends_with('/')) {
    root.remove_suffix(1);
  }
  return fmt::format("{}{}", root, path);
}

class Answer {
 public:
  explicit Answer(const AllocationRequest& request) : request_(request) {}

  Result<ContainerAllocateResponse> run() {
    BERTH_CHECK(find_devices());
    BERTH_CHECK(check_sharing());
    const PluginFlags& flags = request_.config.flags.plugin;
    if (flags.device_list_strategies.any_cdi()) {
      add_cdi(flags);
    }
    add_list(flags.device_list_strategies);
    if (flags.pass_device_specs) {
      BERTH_CHECK(add_device_nodes());
    }
    add_companions();
    if (request_.resource.sharing == inventory::Sharing::Mps && any_replica_) {
      add_mps();
    }
    return std::move(out_);
  }

 private:
  Result<void> find_devices() {
    std::set<std::string> seen;
    for (const std::string& id : request_.ids) {
      const PluginDevice* device = request_.resource.find(id);
      if (device == nullptr) {
        return refused(request_, fmt::format("unknown device: {}", id));
      }
      any_replica_ = any_replica_ || device->replica;
      asked_.push_back(device);
      if (seen.insert(device->uuid).second) {
        devices_.push_back(device);
      }
    }
    return {};
  }

  Result<void> check_sharing() const {
    const SharedResources* shared = request_.config.sharing.resources();
    if (shared == nullptr || !any_replica_) {
      return {};
    }
    if (shared->fail_requests_greater_than_one && request_.ids.size() > 1) {
      return refused(request_,
                     fmt::format("maximum request size for shared resources is 1; found {}",
                                 request_.ids.size()));
    }
    if (shared->require_distinct_devices && devices_.size() < asked_.size()) {
      return refused(request_, fmt::format("replicas must be of distinct devices; found {} of {}",
                                           asked_.size(), devices_.size()));
    }
    return {};
  }

  /// What names a device to the runtime.
  const std::string& name_of(const PluginDevice& device) const {
    return request_.config.flags.plugin.device_id_strategy == DeviceIdStrategy::Index ? device.index
                                                                                      : device.uuid;
  }

  void add_cdi(const PluginFlags& flags) {
    std::vector<std::string> names;
    const auto add = [&](std::string_view device_class, std::string_view device) {
      names.push_back(cdi::qualified_name(plugin_kind(device_class), device));
    };
    for (const PluginDevice* device : devices_) {
      add("gpu", name_of(*device));
    }
    for (const Companion& companion : companions(request_.config.flags, request_.nodes)) {
      if (!companion.files.empty()) {
        add(companion.device_class, "all");
      }
    }
    for (const std::int64_t channel : request_.nodes.imex_channels) {
      add("imex-channel", fmt::to_string(channel));
    }
    if (flags.device_list_strategies.cdi_annotations) {
      out_.annotations[fmt::format("{}nvidia-device-plugin_{}", flags.cdi_annotation_prefix,
                                   request_.response_id)] =
          fmt::format("{}", fmt::join(names, ","));
    }
    if (flags.device_list_strategies.cdi_cri) {
      out_.cdi_devices = std::move(names);
    }
  }

  void add_list(const DeviceListStrategies& strategies) {
    const std::vector<std::int64_t>& channels = request_.nodes.imex_channels;
    if (strategies.envvar) {
      std::vector<std::string> names;
      for (const PluginDevice* device : devices_) {
        names.push_back(name_of(*device));
      }
      out_.envs[std::string(kVisibleDevices)] = fmt::format("{}", fmt::join(names, ","));
      if (!channels.empty()) {
        out_.envs["NVIDIA_IMEX_CHANNELS"] = fmt::format("{}", fmt::join(channels, ","));
      }
    }
    if (strategies.volume_mounts) {
      out_.envs[std::string(kVisibleDevices)] = kMountsRoot;
      const auto mount = [&](std::string_view name) {
        out_.mounts.push_back(
            {.container_path = fmt::format("{}/{}", kMountsRoot, name), .host_path = "/dev/null"});
      };
      for (const PluginDevice* device : devices_) {
        mount(name_of(*device));
      }
      for (const std::int64_t channel : channels) {
        mount(fmt::format("imex/{}", channel));
      }
    }
  }

  void add_node(const std::string& path) {
    if (std::ranges::find(out_.devices, path, &DeviceSpec::container_path) == out_.devices.end()) {
      out_.devices.push_back({.container_path = path,
                              .host_path = below(request_.config.flags.nvidia_dev_root, path),
                              .permissions = "rw"});
    }
  }

  Result<void> add_device_nodes() {
    for (const std::string& path : request_.nodes.control) {
      add_node(path);
    }
    for (const PluginDevice* device : devices_) {
      add_node(fmt::format("/dev/nvidia{}", device->minor));
      if (!device->mig) {
        continue;
      }
      const auto [gi, ci] = *device->mig;
      const auto of_gpu = request_.nodes.mig.gpu_instance(device->minor, gi);
      const auto of_compute = request_.nodes.mig.compute_instance(device->minor, gi, ci);
      if (!of_gpu || !of_compute) {
        return refused(request_, fmt::format("the driver has no capability files of MIG device {} "
                                             "(gpu{}/gi{}/ci{})",
                                             device->uuid, device->minor, gi, ci));
      }
      add_node(cdi::capability_path(*of_gpu));
      add_node(cdi::capability_path(*of_compute));
    }
    for (const std::int64_t channel : request_.nodes.imex_channels) {
      add_node(fmt::format("/dev/nvidia-caps-imex-channels/channel{}", channel));
    }
    return {};
  }

  void add_companions() {
    const Flags& flags = request_.config.flags;
    if (flags.gdrcopy_enabled) {
      out_.envs["NVIDIA_GDRCOPY"] = "enabled";
    }
    if (flags.gds_enabled) {
      out_.envs["NVIDIA_GDS"] = "enabled";
    }
    if (flags.mofed_enabled) {
      out_.envs["NVIDIA_MOFED"] = "enabled";
    }
  }

  void add_mps() {
    const std::string& root = request_.config.flags.mps_root;
    const std::string pipe = fmt::format("/{}/pipe", request_.resource.name);
    out_.envs["CUDA_MPS_PIPE_DIRECTORY"] = "/mps" + pipe;
    out_.mounts.push_back({.container_path = "/mps" + pipe, .host_path = below(root, pipe)});
    out_.mounts.push_back({.container_path = "/dev/shm", .host_path = below(root, "/shm")});
  }

  const AllocationRequest& request_;
  std::vector<const PluginDevice*> asked_;
  std::vector<const PluginDevice*> devices_; ///< each once, as asked
  bool any_replica_ = false;
  ContainerAllocateResponse out_;
};

} // namespace

std::string plugin_kind(std::string_view device_class) {
  return fmt::format("k8s.device-plugin.nvidia.com/{}", device_class);
}

std::vector<Companion> companions(const Flags& flags, const DriverNodes& nodes) {
  std::vector<Companion> enabled;
  if (flags.gdrcopy_enabled) {
    enabled.push_back({.device_class = "gdrcopy", .files = nodes.gdrcopy});
  }
  if (flags.gds_enabled) {
    enabled.push_back({.device_class = "gds", .files = nodes.gds});
  }
  if (flags.mofed_enabled) {
    enabled.push_back({.device_class = "mofed", .files = nodes.mofed});
  }
  return enabled;
}

Result<ContainerAllocateResponse> allocate_container(const AllocationRequest& request) {
  return Answer(request).run();
}

} // namespace berth::deviceplugin
