// What one provider of resources (devices, CPUs, memory) would like: on which NUMA nodes a request
// can be met, and which of them it prefers. The kubelet's TopologyHint.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "berth/topology/numa_mask.h"

namespace berth::topology {

struct Hint {
  std::optional<NumaMask> affinity; ///< none: any node
  bool preferred = false;

  bool operator==(const Hint&) const = default;
};

struct ResourceHints {
  std::string resource;
  /// None: the provider does not care. Empty: the request cannot be met on any nodes.
  std::optional<std::vector<Hint>> hints;

  bool operator==(const ResourceHints&) const = default;
};

} // namespace berth::topology
