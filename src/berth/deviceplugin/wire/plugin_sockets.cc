#include "berth/deviceplugin/wire/plugin_sockets.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace berth::deviceplugin {

struct PluginSockets::Served {
  std::string name;
  std::shared_ptr<Audience> audience = std::make_shared<Audience>();
  std::unique_ptr<rpc::Server> server;
  std::optional<SocketIdentity> identity;
  bool registered = false;
  bool silent = false;                ///< nobody listened when that was last asked
  std::unique_ptr<DeviceStream> life; ///< ends with the plugin
};

std::string plugin_socket_name(std::string_view resource) {
  return fmt::format("nvidia-{}.sock", resource.substr(resource.find('/') + 1));
}

PluginSockets::PluginSockets(net::AsioLoop& loop, std::string directory)
    : loop_(&loop), directory_(std::move(directory)) {}

PluginSockets::~PluginSockets() = default;

Result<std::string> PluginSockets::serve(const std::string& resource,
                                         std::shared_ptr<DevicePlugin> plugin) {
  std::string name = plugin_socket_name(resource);
  for (const auto& [other, served] : served_) {
    if (other != resource && served->name == name) {
      return fail(Code::Conflict, fmt::format("resource {}: {} is the socket of {} already",
                                              resource, name, other));
    }
  }
  BERTH_TRY(const std::string path, endpoint_path(directory_, name));
  // The old server takes its file with it, so it goes before the new one makes its own.
  served_.erase(resource);
  auto served = std::make_unique<Served>();
  served->name = name;
  BERTH_TRY(served->server,
            rpc::Server::listen(*loop_, path, plugin_methods(plugin, served->audience)));
  served->identity = socket_at(path);
  served->life =
      plugin->list_and_watch([](const std::vector<Device>&) {},
                             [this, resource](const Error&) { served_.erase(resource); });
  served_.insert_or_assign(resource, std::move(served));
  return name;
}

void PluginSockets::registered(const std::string& resource) {
  if (const auto it = served_.find(resource); it != served_.end()) {
    it->second->registered = true;
  }
}

bool PluginSockets::lost() const {
  return std::ranges::any_of(served_, [&](const auto& each) {
    return socket_at(directory_ + "/" + each.second->name) != each.second->identity;
  });
}

bool PluginSockets::unheard() {
  bool any = false;
  for (const auto& [resource, served] : served_) {
    const bool silent = served->registered && served->audience->listeners == 0;
    any = any || (silent && served->silent);
    served->silent = silent;
  }
  return any;
}

} // namespace berth::deviceplugin
