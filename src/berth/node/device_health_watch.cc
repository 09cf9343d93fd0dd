#include "berth/node/device_health_watch.h"

#include <fmt/format.h>

namespace berth::node {

std::map<std::string, DeviceHealths> device_healths(const DeviceManager& devices,
                                                    std::string_view pod_uid) {
  std::map<std::string, DeviceHealths> healths;
  for (const Holding* holding : devices.ledger().of_pod(pod_uid)) {
    auto& list = healths[holding->container][holding->resource];
    for (const std::string& id : holding->ids()) {
      list.emplace_back(id, devices.health(holding->resource, id));
    }
  }
  return healths;
}

std::vector<HealthNews>
DeviceHealthWatch::news(const std::map<std::string, DeviceHealths>& now_are) {
  std::vector<HealthNews> news;
  for (const auto& [container, resources] : now_are) {
    for (const auto& [resource, devices] : resources) {
      for (const auto& [id, health] : devices) {
        if (health == DeviceHealth::Unhealthy && sick_.insert(id).second) {
          news.push_back({health, fmt::format("device {} {} of container {} is unhealthy", resource,
                                              id, container)});
        } else if (health == DeviceHealth::Healthy && sick_.erase(id) > 0) {
          news.push_back({health, fmt::format("device {} {} of container {} is healthy again",
                                              resource, id, container)});
        }
      }
    }
  }
  return news;
}

} // namespace berth::node
