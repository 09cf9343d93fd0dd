// How the devices of one pod are, and what to tell its user when that changes. The pod goes on with
// a sick device, as the kubelet has it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "berth/node/device_manager.h"
#include "berth/node/pod_status.h"

namespace berth::node {

/// By container.
std::map<std::string, DeviceHealths> device_healths(const DeviceManager& devices,
                                                    std::string_view pod_uid);

struct HealthNews {
  DeviceHealth health = DeviceHealth::Unhealthy; ///< or Healthy, for one that was not
  std::string message;
};

/// Each change is news once; a device whose plugin is gone is none. A value.
class DeviceHealthWatch {
 public:
  std::vector<HealthNews> news(const std::map<std::string, DeviceHealths>& now_are);

 private:
  std::set<std::string> sick_; ///< ids that were news
};

} // namespace berth::node
