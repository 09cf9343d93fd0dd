// The devices of one resource as its plugin reports them, and what the node may promise of them:
// capacity, allocatable and the grace after a plugin has gone. Rules of the kubelet's device
// manager.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/base/time.h"
#include "berth/deviceplugin/contract.h"

namespace berth::node {

struct DeviceCount {
  std::int64_t capacity = 0;
  std::int64_t allocatable = 0;
  bool operator==(const DeviceCount&) const = default;
};

enum class DeviceHealth {
  Healthy,
  Unhealthy,
  Unknown, ///< its plugin is gone
};
std::string_view to_string(DeviceHealth health);

/// A value; time comes in as an argument. Invariant: while the plugin is stopped no device counts
/// as healthy.
class DevicePool {
 public:
  /// The full list of a live plugin.
  void update(std::vector<deviceplugin::Device> devices);
  /// The plugin has gone at `now`.
  void stop(TimePoint now);
  /// A plugin is connected; its devices follow by update().
  void start();

  bool live() const { return !stopped_at_; }
  /// When the resource is to be dropped: stop + grace; none while live.
  std::optional<TimePoint> expires(Duration grace) const;
  DeviceCount count() const;
  /// A list has come since start().
  bool listed() const { return listed_; }

  /// All of them, as the plugin last listed them.
  const std::vector<deviceplugin::Device>& devices() const { return devices_; }
  /// Fit for allocation, in the plugin's order.
  std::vector<std::string> healthy() const;
  /// Ids that the plugin itself called unhealthy, sorted.
  std::vector<std::string> reported_unhealthy() const;
  DeviceHealth health(std::string_view id) const;
  /// NUMA nodes of the device; empty if it has no topology or is unknown.
  std::vector<std::int64_t> numa_of(std::string_view id) const;

 private:
  std::vector<deviceplugin::Device> devices_;
  std::optional<TimePoint> stopped_at_;
  bool listed_ = false;
};

} // namespace berth::node
