#include "berth/node/device_edits.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/base/log.h"

namespace berth::node {
namespace {

constexpr std::string_view kLog = "device-manager";
using deviceplugin::ContainerAllocateResponse;

} // namespace

ContainerAllocateResponse merge_edits(const std::vector<const Holding*>& holdings) {
  ContainerAllocateResponse merged;
  for (const Holding* holding : holdings) {
    if (!holding->response) {
      continue;
    }
    const ContainerAllocateResponse& response = *holding->response;
    for (const auto& [name, value] : response.envs) {
      if (const auto [it, added] = merged.envs.emplace(name, value);
          !added && it->second != value) {
        log(LogLevel::Warn, kLog,
            fmt::format("conflicting values of environment variable {}", name));
      }
    }
    for (const deviceplugin::Mount& mount : response.mounts) {
      if (std::ranges::find(merged.mounts, mount.container_path,
                            &deviceplugin::Mount::container_path) == merged.mounts.end()) {
        merged.mounts.push_back(mount);
      }
    }
    for (const deviceplugin::DeviceSpec& device : response.devices) {
      if (std::ranges::find(merged.devices, device.container_path,
                            &deviceplugin::DeviceSpec::container_path) == merged.devices.end()) {
        merged.devices.push_back(device);
      }
    }
    merged.annotations.insert(response.annotations.begin(), response.annotations.end());
    for (const std::string& name : response.cdi_devices) {
      if (std::ranges::find(merged.cdi_devices, name) == merged.cdi_devices.end()) {
        merged.cdi_devices.push_back(name);
      }
    }
  }
  return merged;
}

} // namespace berth::node
