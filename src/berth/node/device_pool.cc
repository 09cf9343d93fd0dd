#include "berth/node/device_pool.h"

#include <algorithm>
#include <utility>

namespace berth::node {

std::string_view to_string(DeviceHealth health) {
  switch (health) {
  case DeviceHealth::Healthy:
    return "Healthy";
  case DeviceHealth::Unhealthy:
    return "Unhealthy";
  case DeviceHealth::Unknown:
    return "Unknown";
  }
  return "Unknown";
}

void DevicePool::update(std::vector<deviceplugin::Device> devices) {
  devices_.clear();
  // An id said twice counts once; its last word holds.
  std::map<std::string, std::size_t> place;
  for (deviceplugin::Device& device : devices) {
    const auto [it, first] = place.emplace(device.id, devices_.size());
    if (first) {
      devices_.push_back(std::move(device));
    } else {
      devices_[it->second] = std::move(device);
    }
  }
  listed_ = true;
}

void DevicePool::stop(TimePoint now) {
  if (!stopped_at_) {
    stopped_at_ = now;
  }
}

void DevicePool::start() {
  stopped_at_.reset();
  listed_ = false;
}

std::optional<TimePoint> DevicePool::expires(Duration grace) const {
  return stopped_at_ ? std::optional(*stopped_at_ + grace) : std::nullopt;
}

DeviceCount DevicePool::count() const {
  return {.capacity = static_cast<std::int64_t>(devices_.size()),
          .allocatable = static_cast<std::int64_t>(healthy().size())};
}

std::vector<std::string> DevicePool::healthy() const {
  std::vector<std::string> ids;
  if (!live() || !listed_) { // what the plugin said in an earlier life it may not say now
    return ids;
  }
  for (const deviceplugin::Device& device : devices_) {
    if (device.health == deviceplugin::kHealthy) {
      ids.push_back(device.id);
    }
  }
  return ids;
}

std::vector<std::string> DevicePool::reported_unhealthy() const {
  std::vector<std::string> ids;
  for (const deviceplugin::Device& device : devices_) {
    if (device.health != deviceplugin::kHealthy) {
      ids.push_back(device.id);
    }
  }
  std::ranges::sort(ids);
  return ids;
}

DeviceHealth DevicePool::health(std::string_view id) const {
  const auto it = std::ranges::find(devices_, id, &deviceplugin::Device::id);
  if (it != devices_.end() && it->health != deviceplugin::kHealthy) {
    return DeviceHealth::Unhealthy;
  }
  // A device missing from the list of a live plugin counts as healthy, as the kubelet has it.
  return live() ? DeviceHealth::Healthy : DeviceHealth::Unknown;
}

std::vector<std::int64_t> DevicePool::numa_of(std::string_view id) const {
  const auto it = std::ranges::find(devices_, id, &deviceplugin::Device::id);
  return it == devices_.end() ? std::vector<std::int64_t>() : it->numa_nodes;
}

} // namespace berth::node
