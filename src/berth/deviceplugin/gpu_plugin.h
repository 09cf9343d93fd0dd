// The device plugin of one resource: nvidia.com/gpu, nvidia.com/mig-1g.10gb, nvidia.com/gpu.shared.
// It serves and registers what its set shows it; which devices there are and how they are is the
// set's to say (plugin_set.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "berth/base/loop.h"
#include "berth/base/time.h"
#include "berth/deviceplugin/allocation.h"
#include "berth/deviceplugin/config/config.h"
#include "berth/deviceplugin/contract.h"
#include "berth/deviceplugin/kubelet_socket.h"
#include "berth/deviceplugin/plugin_server.h"
#include "berth/deviceplugin/resource_plan.h"
#include "berth/hardware/choose.h"
#include "berth/inventory/inventory.h"

namespace berth::deviceplugin {

/// What the plugins of a node have in common.
struct PluginOptions {
  Config config;
  DriverNodes nodes;
  /// Which whole GPUs go together.
  hardware::ChoicePolicy policy = hardware::ChoicePolicy::Topology;
  /// How long an answer takes.
  Duration rpc_takes = Duration();
  /// Told when a kubelet has taken a resource.
  std::function<void(const std::string& resource)> on_registered = {};
};

/// Lives from construction to destruction; destroying it is a crash: streams end, calls fail.
/// Registers with the kubelet whenever one listens; a refused or failed registration is tried again
/// after a back-off (1 s to 30 s). Inventory, socket, loop and options must outlive it.
class GpuPlugin final : PluginService {
 public:
  GpuPlugin(Loop& loop, const inventory::Inventory& inventory, KubeletSocket& socket,
            const PluginOptions& options, std::string resource_name);
  ~GpuPlugin() override;
  GpuPlugin(const GpuPlugin&) = delete;
  GpuPlugin& operator=(const GpuPlugin&) = delete;

  /// The devices from now on, and the same with their health. Streams get a list if it differs.
  void show(PlannedResource resource, std::vector<Device> devices);

  const std::string& name() const { return resource_.name; }
  const PlannedResource& resource() const { return resource_; }
  /// A fresh connection to this life of the plugin.
  std::shared_ptr<DevicePlugin> connect() { return server_.connect(); }

 private:
  DevicePluginOptions options() const override;
  std::vector<Device> devices() const override { return devices_; }
  Result<std::vector<std::string>>
  preferred(const PreferredAllocationRequest& request) const override;
  Result<std::vector<ContainerAllocateResponse>>
  allocate(const std::vector<std::vector<std::string>>& containers) override;
  Result<void> pre_start_container(const std::vector<std::string>& ids) override;

  void register_with_kubelet();
  void try_again();

  const inventory::Inventory* inventory_;
  KubeletSocket* socket_;
  const PluginOptions* options_;
  PlannedResource resource_;
  std::vector<Device> devices_;
  std::uint64_t answers_ = 0; ///< containers that Allocate answered
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  Timer retry_;
  Duration backoff_;
  std::unique_ptr<KubeletSocket::Handle> kubelet_;
  PluginServer server_; ///< first to go: nothing is answered by a half destroyed plugin
};

} // namespace berth::deviceplugin
