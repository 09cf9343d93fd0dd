// The NVIDIA GPU device plugin: resource nvidia.com/gpu over an Inventory. Same resource name, ids,
// environment and CDI names as NVIDIA's k8s-device-plugin; beyond it, devices return to Healthy
// when a probe proves them well, and a restarted plugin probes instead of believing that all is
// well.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/loop.h"
#include "berth/base/time.h"
#include "berth/cdi/registry.h"
#include "berth/deviceplugin/contract.h"
#include "berth/deviceplugin/kubelet_socket.h"
#include "berth/deviceplugin/plugin_server.h"
#include "berth/hardware/choose.h"
#include "berth/inventory/inventory.h"

namespace berth::deviceplugin {

struct GpuPluginOptions {
  std::string resource_name = "nvidia.com/gpu";
  hardware::ChoicePolicy policy = hardware::ChoicePolicy::Topology;
  /// How long an answer takes.
  Duration rpc_takes = Duration();
  std::int64_t uvm_major = 510;
};

/// File name of the CDI spec the plugin writes before it advertises a device.
inline constexpr std::string_view kCdiSpecFile = "k8s.device-plugin.nvidia.com-gpu.json";

/// Lives from construction to destruction; destroying it is a crash: streams end, calls fail.
/// Registers with the kubelet whenever one listens; a refused or failed registration is tried again
/// after a back-off (1 s to 30 s). Inventory, CDI registry, socket and loop must outlive it.
class GpuPlugin final : PluginService {
 public:
  GpuPlugin(Loop& loop, inventory::Inventory& inventory, cdi::Registry& cdi, KubeletSocket& socket,
            GpuPluginOptions options);
  ~GpuPlugin() override;
  GpuPlugin(const GpuPlugin&) = delete;
  GpuPlugin& operator=(const GpuPlugin&) = delete;

  /// A fresh connection to this life of the plugin.
  std::shared_ptr<DevicePlugin> connect() { return server_.connect(); }

 private:
  DevicePluginOptions options() const override;
  std::vector<Device> devices() const override;
  Result<std::vector<std::string>>
  preferred(const PreferredAllocationRequest& request) const override;
  Result<std::vector<ContainerAllocateResponse>>
  allocate(const std::vector<std::vector<std::string>>& containers) override;
  Result<void> pre_start_container(const std::vector<std::string>& ids) override;

  Result<void> write_cdi_spec();
  void register_with_kubelet();
  void try_again();
  void on_health(const inventory::HealthEvent& event);
  Result<ContainerAllocateResponse> response_for(const std::vector<std::string>& ids) const;

  inventory::Inventory* inventory_;
  cdi::Registry* cdi_;
  KubeletSocket* socket_;
  GpuPluginOptions options_;
  std::set<int> unhealthy_; ///< indices
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  Timer retry_;
  Duration backoff_;
  std::unique_ptr<inventory::Subscription> health_;
  std::unique_ptr<KubeletSocket::Handle> kubelet_;
  PluginServer server_; ///< first to go: nothing is answered by a half destroyed plugin
};

} // namespace berth::deviceplugin
