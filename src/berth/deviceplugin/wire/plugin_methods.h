// A device plugin as the service that a kubelet calls.
#pragma once

#include <memory>

#include "berth/deviceplugin/contract.h"
#include "berth/rpc/server.h"

namespace berth::deviceplugin {

/// Who is listening to a plugin's devices. A kubelet that knows the plugin always is.
struct Audience {
  int listeners = 0;
};

/// More streams than this at a time are refused: a kubelet has one.
inline constexpr int kMostListeners = 16;

/// The service v1beta1.DevicePlugin of `plugin`, which may answer any number of containers.
rpc::Methods plugin_methods(std::shared_ptr<DevicePlugin> plugin,
                            std::shared_ptr<Audience> audience);

} // namespace berth::deviceplugin
