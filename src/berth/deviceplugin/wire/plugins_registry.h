// The kubelet's plugin watcher: plugins of any type that put a registration socket somewhere below
// /var/lib/kubelet/plugins_registry are asked who they are, and device plugins among them are taken
// in. Protocol and texts of the kubelet's pluginwatcher.
#pragma once

#include <memory>
#include <string>

#include "berth/base/result.h"
#include "berth/deviceplugin/contract.h"
#include "berth/deviceplugin/wire/directory_patrol.h"
#include "berth/deviceplugin/wire/kubelet_paths.h"
#include "berth/deviceplugin/wire/limits.h"
#include "berth/net/asio_loop.h"

namespace berth::deviceplugin {

struct PluginsRegistryOptions {
  std::string directory = plugins_registry_directory(kKubeletRoot);
  WireLimits limits = {};
  PatrolTimes patrol = {};
  Duration info_timeout = Duration::seconds(1);
  Duration notify_timeout = Duration::seconds(5);
  /// After a failure; doubles up to the last.
  Duration first_backoff = Duration::millis(500);
  Duration last_backoff = Duration::seconds(122);
};

/// A path that is made anew is another plugin: the old one's connection is closed first. Destroying
/// it closes every connection made through it.
class PluginsRegistry {
 public:
  /// Makes the directory, mode 0750. `device_plugins` and the loop must outlive it. Error: the
  /// directory cannot be made.
  static Result<std::unique_ptr<PluginsRegistry>>
  open(net::AsioLoop& loop, PluginsRegistryOptions options, Registration& device_plugins);
  ~PluginsRegistry();
  PluginsRegistry(const PluginsRegistry&) = delete;
  PluginsRegistry& operator=(const PluginsRegistry&) = delete;

 private:
  struct State;
  explicit PluginsRegistry(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

} // namespace berth::deviceplugin
