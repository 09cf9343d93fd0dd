// The plugins a node has, by resource: registration, the device list stream, and what is left when
// one goes. Order of checks and error texts of the kubelet's registration server. Every connection
// is a generation of its own: the end of an old one never tears down a newer one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/loop.h"
#include "berth/deviceplugin/contract.h"
#include "berth/node/device_pool.h"

namespace berth::node {

/// One connection to one life of a plugin.
struct Endpoint {
  std::uint64_t generation = 0;
  std::string resource;
  std::shared_ptr<deviceplugin::DevicePlugin> plugin;
  deviceplugin::DevicePluginOptions options;
};

/// "nvidia.com/gpu": a domain, none that ends in kubernetes.io, and a name; together valid as a
/// quota's "requests.<name>". Kubernetes' rule.
bool is_extended_resource(std::string_view name);

class PluginEndpoints {
 public:
  /// `on_change` is called, from within, whenever a pool has changed.
  PluginEndpoints(Loop& loop, Duration stop_grace, std::function<void()> on_change);
  ~PluginEndpoints();
  PluginEndpoints(const PluginEndpoints&) = delete;
  PluginEndpoints& operator=(const PluginEndpoints&) = delete;

  /// A resource that was registered before a restart: empty and stopped until its plugin comes
  /// back.
  void restore(const std::string& resource);
  /// The same where nothing but the Node tells of it: nobody waits for it to be complete.
  void expect(const std::string& resource);
  /// A resource whose plugin had gone for good before a restart.
  void restore_departed(const std::string& resource);
  /// Nothing is left of a resource whose plugin has gone for good: it is as if it had never been.
  void forget_departed(const std::string& resource);
  void register_plugin(deviceplugin::RegisterRequest request, deviceplugin::Done<void> done);

  /// nullptr if never registered, or gone for longer than the grace.
  const DevicePool* pool(std::string_view resource) const;
  /// nullptr while there is no live plugin whose devices are known.
  std::shared_ptr<const Endpoint> live(std::string_view resource) const;
  /// Has, or had, devices of a plugin.
  bool knows(std::string_view resource) const;
  /// Every pool's count.
  std::map<std::string, DeviceCount> accounting() const;
  std::vector<std::string> resources() const;
  /// Resources whose plugin is gone for good, until they are forgotten.
  std::vector<std::string> departed() const;
  /// Every resource has a live plugin whose devices are known, but for those merely expected.
  bool complete() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::node
