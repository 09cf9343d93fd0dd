#include "berth/deviceplugin/wire/plugins_registry.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "berth/base/log.h"
#include "berth/deviceplugin/wire/methods.h"
#include "berth/deviceplugin/wire/registry_scan.h"
#include "berth/deviceplugin/wire/remote_plugin.h"
#include "berth/rpc/typed.h"
#include "deviceplugin/wire/pluginregistration.pb.h"

namespace berth::deviceplugin {
namespace {

using pluginregistration::InfoRequest;
using pluginregistration::PluginInfo;
using pluginregistration::RegistrationStatus;
using pluginregistration::RegistrationStatusResponse;

constexpr std::string_view kLog = "plugin-watcher";

/// Why this plugin is not for the device manager; "" if it is.
std::string objection(const PluginInfo& info, const std::string& socket) {
  if (info.type() != "DevicePlugin") {
    return fmt::format(
        "RegisterPlugin error -- no handler registered for plugin type: {} at socket {}",
        info.type(), socket);
  }
  if (std::ranges::find(info.supported_versions(), kVersion) == info.supported_versions().end()) {
    return fmt::format("RegisterPlugin error -- plugin validation failed with err: manager "
                       "version, {}, is not among plugin supported versions [{}]",
                       kVersion, fmt::join(info.supported_versions(), " "));
  }
  if (!info.endpoint().empty() && !info.endpoint().starts_with('/')) {
    return fmt::format("RegisterPlugin error -- the endpoint of a plugin is a path, not \"{}\"",
                       info.endpoint());
  }
  return "";
}

} // namespace

struct PluginsRegistry::State : std::enable_shared_from_this<State> {
  /// One life of one registration socket.
  struct Plugin {
    Plugin(net::AsioLoop& loop, SocketIdentity its_identity, std::uint64_t its_life)
        : identity(its_identity), life(its_life), retry(loop) {}

    SocketIdentity identity;
    std::uint64_t life;
    Duration backoff;
    std::unique_ptr<rpc::Channel> channel;
    std::shared_ptr<RemotePlugin> taken_in; ///< or about to be
    Timer retry;
  };

  State(net::AsioLoop& its_loop, PluginsRegistryOptions with, Registration& registration)
      : loop(&its_loop), options(std::move(with)), device_plugins(&registration) {}

  void look();
  void patrol_in(const std::string& folder);
  void ask(const std::string& socket);
  void on_info(const std::string& socket, const Result<PluginInfo>& info);
  void on_registered(const std::string& socket, std::uint64_t life, const Result<void>& done);
  void notify(const std::string& socket, const std::string& error);
  void fail_for_now(const std::string& socket, const std::string& why);
  void drop(Plugin& plugin);

  net::AsioLoop* loop;
  PluginsRegistryOptions options;
  Registration* device_plugins;
  std::map<std::string, std::unique_ptr<DirectoryPatrol>> patrols; ///< by folder
  std::map<std::string, std::unique_ptr<Plugin>> plugins;          ///< by socket
  std::uint64_t next_life = 1;
};

void PluginsRegistry::State::patrol_in(const std::string& folder) {
  patrols.emplace(folder, std::make_unique<DirectoryPatrol>(*loop, folder, options.patrol,
                                                            [this](DirectoryPatrol::Why) {
                                                              // Not from within: it ends patrols of
                                                              // folders that are gone.
                                                              loop->post([weak = weak_from_this()] {
                                                                if (const auto self = weak.lock()) {
                                                                  self->look();
                                                                }
                                                              });
                                                            }));
}

void PluginsRegistry::State::look() {
  const RegistryScan found = scan_registry(options.directory);
  std::erase_if(patrols, [&](const auto& each) {
    return each.first != options.directory && !found.folders.contains(each.first);
  });
  for (const std::string& folder : found.folders) {
    if (!patrols.contains(folder)) {
      patrol_in(folder);
    }
  }
  std::erase_if(plugins, [&](const auto& each) {
    const auto now = found.sockets.find(each.first);
    const bool same = now != found.sockets.end() && now->second == each.second->identity;
    if (!same) {
      drop(*each.second);
    }
    return !same;
  });
  for (const auto& [socket, identity] : found.sockets) {
    if (!plugins.contains(socket)) {
      plugins.emplace(socket, std::make_unique<Plugin>(*loop, identity, next_life++));
      plugins[socket]->backoff = options.first_backoff;
      ask(socket);
    }
  }
}

void PluginsRegistry::State::drop(Plugin& plugin) {
  plugin.channel.reset();
  if (plugin.taken_in) {
    plugin.taken_in->hang_up();
  }
}

void PluginsRegistry::State::ask(const std::string& socket) {
  Plugin& plugin = *plugins.at(socket);
  plugin.channel = std::make_unique<rpc::Channel>(*loop, socket);
  // The channel goes with the plugin, and its answers with the channel.
  rpc::call<PluginInfo>(*plugin.channel, method::kGetInfo, InfoRequest(),
                        {.timeout = options.info_timeout, .absent = rpc::CallOptions::Absent::Wait},
                        [this, socket](const Result<PluginInfo>& info) { on_info(socket, info); });
}

void PluginsRegistry::State::on_info(const std::string& socket, const Result<PluginInfo>& info) {
  if (!info) {
    fail_for_now(socket, fmt::format("RegisterPlugin error -- failed to get plugin info using RPC "
                                     "GetInfo at socket {}, err: {}",
                                     socket, info.error().message));
    return;
  }
  if (const std::string why = objection(*info, socket); !why.empty()) {
    notify(socket, why);
    fail_for_now(socket, why);
    return;
  }
  Plugin& plugin = *plugins.at(socket);
  plugin.taken_in = std::make_shared<RemotePlugin>(
      *loop, info->endpoint().empty() ? socket : info->endpoint(), options.limits);
  device_plugins->register_plugin(
      {.resource_name = info->name(), .endpoint = plugin.taken_in},
      [weak = weak_from_this(), socket, life = plugin.life](const Result<void>& done) {
        if (const auto self = weak.lock()) {
          self->on_registered(socket, life, done);
        }
      });
}

void PluginsRegistry::State::on_registered(const std::string& socket, std::uint64_t life,
                                           const Result<void>& done) {
  const auto it = plugins.find(socket);
  if (it == plugins.end() || it->second->life != life) {
    return;
  }
  if (!done) {
    const std::string why = fmt::format(
        "RegisterPlugin error -- plugin registration failed with err: {}", done.error().message);
    notify(socket, why);
    it->second->taken_in->hang_up();
    fail_for_now(socket, why);
    return;
  }
  it->second->backoff = options.first_backoff;
  notify(socket, "");
}

/// Tells the plugin what has become of it; "" is good news.
void PluginsRegistry::State::notify(const std::string& socket, const std::string& error) {
  RegistrationStatus status;
  status.set_plugin_registered(error.empty());
  status.set_error(error);
  rpc::call<RegistrationStatusResponse>(
      *plugins.at(socket)->channel, method::kNotifyRegistrationStatus, status,
      {.timeout = options.notify_timeout},
      [socket](const Result<RegistrationStatusResponse>& answer) {
        if (!answer) {
          log(LogLevel::Warn, kLog,
              fmt::format("RegisterPlugin error -- failed to send registration status at socket "
                          "{}, err: {}",
                          socket, answer.error().message));
        }
      });
}

void PluginsRegistry::State::fail_for_now(const std::string& socket, const std::string& why) {
  log(LogLevel::Warn, kLog, why);
  Plugin& plugin = *plugins.at(socket);
  plugin.retry.set(plugin.backoff, [this, socket] { ask(socket); });
  plugin.backoff = std::min(plugin.backoff * 2, options.last_backoff);
}

PluginsRegistry::PluginsRegistry(std::shared_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<PluginsRegistry>> PluginsRegistry::open(net::AsioLoop& loop,
                                                               PluginsRegistryOptions options,
                                                               Registration& device_plugins) {
  BERTH_CHECK(make_directory(options.directory));
  auto state = std::make_shared<State>(loop, std::move(options), device_plugins);
  state->patrol_in(state->options.directory);
  return std::unique_ptr<PluginsRegistry>(new PluginsRegistry(std::move(state)));
}

PluginsRegistry::~PluginsRegistry() {
  state_->patrols.clear();
  for (const auto& [socket, plugin] : state_->plugins) {
    state_->drop(*plugin);
    plugin->retry.cancel();
  }
}

} // namespace berth::deviceplugin
