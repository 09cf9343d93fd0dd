// What a node's owner says about topology, CPUs and memory, in the fields of a
// KubeletConfiguration, and the rules that follow from it on a machine.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "berth/api/json.h"
#include "berth/base/result.h"
#include "berth/topology/cpu_policy.h"
#include "berth/topology/machine.h"
#include "berth/topology/memory_policy.h"
#include "berth/topology/policy.h"

namespace berth::topology {

struct Settings {
  AlignmentRules alignment;
  CpuPolicy cpu_policy = CpuPolicy::None;
  CpuOptions cpu_options;
  std::optional<CpuSet> reserved_cpus; ///< none: as many as the node keeps back
  MemoryPolicy memory_policy = MemoryPolicy::None;
  std::optional<std::map<int, MemoryAmounts>> reserved_memory; ///< none: equal parts of that

  /// Some policy is not none.
  bool active() const {
    return alignment.policy != Policy::None || cpu_policy != CpuPolicy::None ||
           memory_policy != MemoryPolicy::None;
  }
};

/// Reads topologyManagerPolicy, topologyManagerScope, topologyManagerPolicyOptions,
/// cpuManagerPolicy, cpuManagerPolicyOptions, reservedSystemCPUs, memoryManagerPolicy and
/// reservedMemory. Errors name the field; one that is not among these is an error.
Result<Settings> read_settings(const api::json::value& configuration);

/// What a node's capacity has beyond its allocatable.
struct KeptBack {
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0; ///< bytes
};

struct Rules {
  std::shared_ptr<const Machine> machine = std::make_shared<const Machine>();
  AlignmentRules alignment;
  CpuRules cpus;
  MemoryRules memory;

  /// Some policy is not none.
  bool active() const {
    return alignment.policy != Policy::None || cpus.policy != CpuPolicy::None ||
           memory.policy != MemoryPolicy::None;
  }
};
/// Error Invalid: the settings contradict each other or the machine.
Result<Rules> make_rules(const Settings& settings, Machine machine, const KeptBack& kept_back);

} // namespace berth::topology
