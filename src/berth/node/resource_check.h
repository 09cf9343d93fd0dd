// The kubelet's last check before a pod runs: does the node have what it asks for. Reasons and
// message of the kubelet's predicate handler.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/model/pod.h"

namespace berth::node {

struct Shortage {
  std::string reason;  ///< "OutOfcpu", "OutOfnvidia.com/gpu"
  std::string message; ///< "Node didn't have enough resource: ..."
  bool operator==(const Shortage&) const = default;
};

/// A pod that has been admitted.
struct Occupant {
  const model::Pod* pod = nullptr;
  bool init_over = false; ///< the devices of its init phase are free
};

/// Pods, cpu, memory, ephemeral-storage, then others by name. Extended resources that `allocatable`
/// lacks, and any that `skip` accepts, are left to the device manager. cpu is in thousandths, as
/// the kubelet's message has it.
std::optional<Shortage> find_shortage(const model::Pod& pod, const model::ResourceList& allocatable,
                                      const std::vector<Occupant>& others,
                                      const std::function<bool(std::string_view)>& skip);

} // namespace berth::node
