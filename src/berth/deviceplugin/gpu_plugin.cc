#include "berth/deviceplugin/gpu_plugin.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "berth/base/log.h"
#include "berth/deviceplugin/preference.h"
#include "berth/deviceplugin/shared_preference.h"
#include "berth/hardware/identity.h"

namespace berth::deviceplugin {
namespace {

constexpr Duration kFirstBackoff = Duration::seconds(1);
constexpr Duration kLastBackoff = Duration::seconds(30);
constexpr std::string_view kLog = "device-plugin";

bool is_whole_gpu(const PluginDevice& device) {
  return !device.mig && !device.replica;
}

} // namespace

GpuPlugin::GpuPlugin(Loop& loop, const inventory::Inventory& inventory, KubeletSocket& socket,
                     const PluginOptions& options, std::string resource_name)
    : inventory_(&inventory), socket_(&socket), options_(&options), retry_(loop),
      backoff_(kFirstBackoff), server_(loop, *this, options.rpc_takes) {
  resource_.name = std::move(resource_name);
  kubelet_ = socket_->watch([this] {
    backoff_ = kFirstBackoff;
    register_with_kubelet();
  });
}

GpuPlugin::~GpuPlugin() = default;

void GpuPlugin::show(PlannedResource resource, std::vector<Device> devices) {
  resource_ = std::move(resource);
  if (devices == devices_) {
    return;
  }
  devices_ = std::move(devices);
  server_.devices_changed();
}

void GpuPlugin::register_with_kubelet() {
  retry_.cancel();
  socket_->register_plugin(
      {.resource_name = resource_.name, .endpoint = connect()},
      [this, weak = std::weak_ptr(alive_)](Result<void> result) {
        if (weak.expired()) {
          return;
        }
        if (result) {
          if (options_->on_registered) {
            options_->on_registered(resource_.name);
          }
          return;
        }
        log(LogLevel::Warn, kLog,
            fmt::format("{}: registration failed: {}", resource_.name, result.error().message));
        // Without a listener there is nothing to try: its return is announced.
        if (result.error().code != Code::Unavailable) {
          try_again();
        }
      });
}

void GpuPlugin::try_again() {
  retry_.set(backoff_, [this] { register_with_kubelet(); });
  backoff_ = std::min(backoff_ * 2, kLastBackoff);
}

DevicePluginOptions GpuPlugin::options() const {
  return {.pre_start_required = false, .get_preferred_allocation_available = true};
}

Result<std::vector<std::string>>
GpuPlugin::preferred(const PreferredAllocationRequest& request) const {
  if (std::ranges::all_of(resource_.devices, is_whole_gpu)) {
    return preferred_gpus(*inventory_, options_->policy, request);
  }
  const SharedResources* shared = options_->config.sharing.resources();
  const bool distinct = shared != nullptr && shared->require_distinct_devices;
  return preferred_shared(resource_,
                          distinct ? AllocationPolicy::Spread
                                   : options_->config.flags.plugin.shared_devices_allocation_policy,
                          request);
}

Result<std::vector<ContainerAllocateResponse>>
GpuPlugin::allocate(const std::vector<std::vector<std::string>>& containers) {
  std::vector<ContainerAllocateResponse> responses;
  for (const std::vector<std::string>& ids : containers) {
    const std::string response_id = hardware::stable_uuid(resource_.name, answers_++);
    BERTH_TRY(ContainerAllocateResponse response, allocate_container({.resource = resource_,
                                                                      .ids = ids,
                                                                      .config = options_->config,
                                                                      .nodes = options_->nodes,
                                                                      .response_id = response_id}));
    responses.push_back(std::move(response));
  }
  return responses;
}

Result<void> GpuPlugin::pre_start_container(const std::vector<std::string>&) {
  return {};
}

} // namespace berth::deviceplugin
