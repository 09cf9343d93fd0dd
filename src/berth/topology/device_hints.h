// The device manager's hints for one resource of one container or pod. Rules of the kubelet (1.36):
// only nodes that have a device of the resource are looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "berth/topology/hint.h"

namespace berth::topology {

struct DeviceOffer {
  enum class State {
    Taken, ///< somebody's, or not healthy
    Free,
    Reusable, ///< left by the pod's init containers
  };
  std::vector<std::int64_t> nodes; ///< empty: no topology
  State state = State::Free;
};

/// `offers` are all devices of the resource. None if no device has topology on this machine; empty
/// if there are too few.
std::optional<std::vector<Hint>> device_hints(const std::vector<DeviceOffer>& offers,
                                              std::int64_t request, NumaMask machine_nodes);

} // namespace berth::topology
