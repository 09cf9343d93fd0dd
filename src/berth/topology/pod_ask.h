// What a pod asks of NUMA nodes beside devices: whole CPUs for itself, memory, hugepages. Only pods
// of class Guaranteed ask for any. Rules of the kubelet's static policies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "berth/model/pod.h"

namespace berth::topology {

/// "memory", "hugepages-2Mi" ... to bytes, more than 0.
using MemoryAmounts = std::map<std::string, std::int64_t>;

struct ContainerAsk {
  enum class Phase {
    Init,    ///< runs to its end before the app containers
    Sidecar, ///< runs beside everything after it
    App,
  };
  std::string name;
  Phase phase = Phase::App;
  int cpus = 0; ///< of its own; 0: it shares
  MemoryAmounts memory;

  bool nothing() const { return cpus == 0 && memory.empty(); }
};

struct PodAsk {
  std::string pod_uid;
  std::vector<ContainerAsk> containers; ///< init containers and sidecars first, each in its order

  const ContainerAsk* find(std::string_view container) const;
  /// Whether the two, or what is left of one that is not in the pod, can run at the same time: an
  /// init container runs beside the sidecars before it and nothing else.
  bool runs_beside(std::string_view one, std::string_view other) const;
};
/// A container asks for CPUs of its own if it requests a whole number of them.
PodAsk ask_of(const model::Pod& pod);

/// The most that the pod uses at a time: the sum over its app containers and sidecars, or more
/// while an init container runs beside the sidecars before it. `of` gives one container's amount.
template <class Of> std::int64_t pod_total(const PodAsk& ask, Of of) {
  std::int64_t sidecars = 0;
  std::int64_t apps = 0;
  std::int64_t init = 0;
  for (const ContainerAsk& each : ask.containers) {
    const std::int64_t amount = of(each);
    switch (each.phase) {
    case ContainerAsk::Phase::Sidecar:
      sidecars += amount;
      break;
    case ContainerAsk::Phase::Init:
      init = std::max(init, sidecars + amount);
      break;
    case ContainerAsk::Phase::App:
      apps += amount;
      break;
    }
  }
  return std::max(init, apps + sidecars);
}
std::int64_t pod_cpus(const PodAsk& ask);
MemoryAmounts pod_memory(const PodAsk& ask);

} // namespace berth::topology
