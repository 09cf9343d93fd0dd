// The static CPU manager policy's options and the CPUs that are nobody's: names, combinations and
// error texts are the kubelet's.
#pragma once

#include <optional>
#include <string_view>

#include "berth/base/result.h"
#include "berth/topology/cpu_picking.h"
#include "berth/topology/cpu_set.h"
#include "berth/topology/machine.h"
#include "berth/topology/policy.h"

namespace berth::topology {

enum class CpuPolicy { None, Static };
std::string_view to_string(CpuPolicy policy);
Result<CpuPolicy> parse_cpu_policy(std::string_view text);

struct CpuOptions {
  bool full_pcpus_only = false;                  ///< whole cores or nothing
  bool strict_cpu_reservation = false;           ///< reserved CPUs are not shared either
  bool distribute_cpus_across_numa = false;      ///< equal shares of several nodes
  bool distribute_cpus_across_cores = false;     ///< one thread of many cores
  bool align_by_socket = false;                  ///< a socket is as good as a node
  bool prefer_align_cpus_by_uncorecache = false; ///< whole groups around a cache

  bool operator==(const CpuOptions&) const = default;
};
Result<CpuOptions> parse_cpu_options(const OptionTexts& texts);

struct CpuRules {
  CpuPolicy policy = CpuPolicy::None;
  CpuOptions options;
  CpuSet reserved; ///< for the system: never anybody's own
};

/// Error Invalid: options that the machine or the topology policy contradict, nothing reserved,
/// reserved CPUs that the machine lacks.
Result<void> check_cpu_rules(const CpuRules& rules, Policy policy, const Machine& machine);

/// The CPUs to reserve where only their number is known: whole cores with low numbers first.
Result<CpuSet> reserve_cpus(const Machine& machine, int count, const CpuOptions& options);

/// CPUs out of `available` as the options want them.
Granted<CpuSet> take_cpus(const Machine& machine, const CpuSet& available, int count,
                          const CpuOptions& options);

} // namespace berth::topology
