// Events from two looks at a runtime, one after the other: CRI runtimes without an event stream are
// asked again and again what they have (the kubelet's pod lifecycle event generator). Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "berth/runtime/runtime.h"

namespace berth::runtime::cri {

/// Containers as last seen, by id.
using Seen = std::map<std::string, ContainerState>;

struct Change {
  std::string id;
  ContainerEvent::Type type = ContainerEvent::Type::Created;
};

/// What happened between the looks, by container id. A container that is first seen running was
/// created and started; one that ended unseen is Stopped alone. O(n).
std::vector<Change> changes_between(const Seen& before, const Seen& now);

} // namespace berth::runtime::cri
