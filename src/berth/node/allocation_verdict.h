// What came of asking for a pod's devices, CPUs and memory.
#pragma once

#include <string>

namespace berth::node {

struct AllocationVerdict {
  enum class Kind {
    Granted,
    Wait, ///< a plugin is coming back, or a dying pod still holds them: ask again when something
          ///< changes
    Rejected, ///< never
  };
  Kind kind = Kind::Granted;
  std::string message; ///< the kubelet's error text
  std::string reason;  ///< of a rejection: "TopologyAffinityError"; "" for a failed allocation
};

} // namespace berth::node
