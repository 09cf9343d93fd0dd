// The sockets that a plugin process serves in the kubelet's directory, one a resource.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "berth/base/result.h"
#include "berth/deviceplugin/contract.h"
#include "berth/deviceplugin/wire/plugin_methods.h"
#include "berth/deviceplugin/wire/socket_file.h"
#include "berth/net/asio_loop.h"
#include "berth/rpc/server.h"

namespace berth::deviceplugin {

/// "nvidia-gpu.sock" for "nvidia.com/gpu", as NVIDIA's plugin has it.
std::string plugin_socket_name(std::string_view resource);

/// A socket is served until its plugin ends, another takes its place or this is destroyed.
class PluginSockets {
 public:
  PluginSockets(net::AsioLoop& loop, std::string directory);
  ~PluginSockets();
  PluginSockets(const PluginSockets&) = delete;
  PluginSockets& operator=(const PluginSockets&) = delete;

  /// Serves the plugin on a new socket in place of the resource's old one, and gives its base name.
  /// Errors: no such directory, another resource has that name, the socket cannot be made.
  Result<std::string> serve(const std::string& resource, std::shared_ptr<DevicePlugin> plugin);
  /// A kubelet has taken the resource: from now on it should be listening.
  void registered(const std::string& resource);

  /// The file of a socket that is served is gone, or is another's.
  bool lost() const;
  /// A kubelet that took a resource has not listened to it for longer than one question ago.
  bool unheard();

 private:
  struct Served;
  net::AsioLoop* loop_;
  std::string directory_;
  std::map<std::string, std::unique_ptr<Served>> served_; ///< by resource
};

} // namespace berth::deviceplugin
