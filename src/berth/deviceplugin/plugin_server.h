// Serving a plugin to clients in the same process: asynchronous, breakable connections over
// synchronous answers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "berth/base/loop.h"
#include "berth/base/time.h"
#include "berth/deviceplugin/contract.h"

namespace berth::deviceplugin {

/// What a plugin knows and answers, one RPC a method.
class PluginService {
 public:
  virtual ~PluginService() = default;
  virtual DevicePluginOptions options() const = 0;
  virtual std::vector<Device> devices() const = 0;
  virtual Result<std::vector<std::string>>
  preferred(const PreferredAllocationRequest& request) const = 0;
  virtual Result<std::vector<ContainerAllocateResponse>>
  allocate(const std::vector<std::vector<std::string>>& containers) = 0;
  virtual Result<void> pre_start_container(const std::vector<std::string>& ids) = 0;
};

/// One life of a plugin's socket. Destroying it is a crash: streams end and calls in flight fail,
/// both with Unavailable. The service must outlive it.
class PluginServer {
 public:
  /// `rpc_takes` is the time from a call to its answer.
  PluginServer(Loop& loop, PluginService& service, Duration rpc_takes);
  ~PluginServer();
  PluginServer(const PluginServer&) = delete;
  PluginServer& operator=(const PluginServer&) = delete;

  std::shared_ptr<DevicePlugin> connect();
  /// Sends the list to every stream.
  void devices_changed();

 private:
  struct Life;
  std::shared_ptr<Life> life_;
};

} // namespace berth::deviceplugin
