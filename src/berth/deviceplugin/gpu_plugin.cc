#include "berth/deviceplugin/gpu_plugin.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/base/log.h"
#include "berth/cdi/nvidia.h"
#include "berth/deviceplugin/preference.h"

namespace berth::deviceplugin {
namespace {

constexpr Duration kFirstBackoff = Duration::seconds(1);
constexpr Duration kLastBackoff = Duration::seconds(30);
constexpr std::string_view kLog = "device-plugin";

} // namespace

GpuPlugin::GpuPlugin(Loop& loop, inventory::Inventory& inventory, cdi::Registry& cdi,
                     KubeletSocket& socket, GpuPluginOptions options)
    : inventory_(&inventory), cdi_(&cdi), socket_(&socket), options_(std::move(options)),
      retry_(loop), backoff_(kFirstBackoff), server_(loop, *this, options_.rpc_takes) {
  for (const inventory::GpuInfo& gpu : inventory_->gpus()) {
    if (!inventory_->probe(gpu.index).usable()) {
      unhealthy_.insert(gpu.index);
    }
  }
  health_ =
      inventory_->subscribe([this](const inventory::HealthEvent& event) { on_health(event); });
  // The spec is there before any device of it is advertised.
  if (const auto written = write_cdi_spec(); !written) {
    log(LogLevel::Error, kLog, to_string(written.error()));
    return;
  }
  kubelet_ = socket_->watch([this] {
    backoff_ = kFirstBackoff;
    register_with_kubelet();
  });
}

GpuPlugin::~GpuPlugin() = default;

Result<void> GpuPlugin::write_cdi_spec() {
  std::vector<cdi::NvidiaGpu> gpus;
  for (const inventory::GpuInfo& gpu : inventory_->gpus()) {
    gpus.push_back({.index = gpu.index, .minor = gpu.minor, .uuid = gpu.uuid});
  }
  if (gpus.empty()) {
    cdi_->remove(kCdiSpecFile);
    return {};
  }
  const cdi::NvidiaSpecOptions options{.kind = std::string(cdi::kDevicePluginKind),
                                       .naming = {cdi::DeviceNaming::Uuid},
                                       .all = cdi::AllDevice::LeftOut,
                                       .visible_devices = cdi::VisibleDevices::FromPlugin,
                                       .uvm_major = options_.uvm_major};
  return cdi_->put(kCdiSpecFile, cdi::Registry::kDynamic, cdi::nvidia_spec(gpus, options));
}

void GpuPlugin::register_with_kubelet() {
  retry_.cancel();
  socket_->register_plugin({.resource_name = options_.resource_name, .endpoint = connect()},
                           [this, weak = std::weak_ptr(alive_)](Result<void> result) {
                             if (weak.expired() || result) {
                               return;
                             }
                             log(LogLevel::Warn, kLog,
                                 fmt::format("registration failed: {}", result.error().message));
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

void GpuPlugin::on_health(const inventory::HealthEvent& event) {
  // The event is only the occasion; what counts is what the GPU answers now.
  const bool usable = inventory_->probe(event.gpu).usable();
  const bool changed =
      usable ? unhealthy_.erase(event.gpu) > 0 : unhealthy_.insert(event.gpu).second;
  if (changed) {
    server_.devices_changed();
  }
}

DevicePluginOptions GpuPlugin::options() const {
  return {.pre_start_required = false, .get_preferred_allocation_available = true};
}

std::vector<Device> GpuPlugin::devices() const {
  std::vector<Device> devices;
  for (const inventory::GpuInfo& gpu : inventory_->gpus()) {
    Device& device = devices.emplace_back();
    device.id = gpu.uuid;
    device.health = unhealthy_.contains(gpu.index) ? kUnhealthy : kHealthy;
    if (gpu.numa) {
      device.numa_nodes = {*gpu.numa};
    }
  }
  return devices;
}

Result<std::vector<std::string>>
GpuPlugin::preferred(const PreferredAllocationRequest& request) const {
  return preferred_gpus(*inventory_, options_.policy, request);
}

Result<ContainerAllocateResponse>
GpuPlugin::response_for(const std::vector<std::string>& ids) const {
  ContainerAllocateResponse response;
  std::vector<std::string> unique;
  for (const char* shared :
       {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"}) {
    response.devices.push_back({shared, shared, "rw"});
  }
  for (const std::string& id : ids) {
    const auto gpu = std::ranges::find(inventory_->gpus(), id, &inventory::GpuInfo::uuid);
    if (gpu == inventory_->gpus().end()) {
      return fail(Code::Invalid, fmt::format("invalid request: unknown device: {}", id));
    }
    if (std::ranges::find(unique, id) != unique.end()) {
      continue;
    }
    unique.push_back(id);
    const std::string path = fmt::format("/dev/nvidia{}", gpu->minor);
    response.devices.push_back({path, path, "rw"});
    response.cdi_devices.push_back(cdi::qualified_name(cdi::kDevicePluginKind, id));
  }
  response.envs["NVIDIA_VISIBLE_DEVICES"] = fmt::format("{}", fmt::join(unique, ","));
  return response;
}

Result<std::vector<ContainerAllocateResponse>>
GpuPlugin::allocate(const std::vector<std::vector<std::string>>& containers) {
  std::vector<ContainerAllocateResponse> responses;
  for (const std::vector<std::string>& ids : containers) {
    BERTH_TRY(ContainerAllocateResponse response, response_for(ids));
    responses.push_back(std::move(response));
  }
  return responses;
}

Result<void> GpuPlugin::pre_start_container(const std::vector<std::string>&) {
  return {};
}

} // namespace berth::deviceplugin
