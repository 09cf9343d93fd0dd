// The topology manager with the CPU and memory managers below it: decides on which NUMA nodes a
// container is to be, and gives it CPUs and memory there. Devices are given by others under the
// same hint, between the two steps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/topology/cpu_ledger.h"
#include "berth/topology/memory_ledger.h"
#include "berth/topology/policy.h"
#include "berth/topology/settings.h"

namespace berth::topology {

/// A value: a copy answers what would be if.
class NumaBook {
 public:
  NumaBook() = default;
  explicit NumaBook(Rules rules);

  bool active() const { return rules_.active(); }
  const Rules& rules() const { return rules_; }

  /// Where the container (the pod, in scope pod) is to be, given its devices' hints.
  Alignment align(const PodAsk& ask, const ContainerAsk& container, Source source,
                  std::vector<ResourceHints> devices) const;
  Alignment align_pod(const PodAsk& ask, std::vector<ResourceHints> devices) const;

  /// CPUs and memory for the container where it was decided, or nothing new.
  Granted<void> assign(const PodAsk& ask, const ContainerAsk& container, const Hint& hint);
  /// It has what it asks for.
  bool complete(const PodAsk& ask, const ContainerAsk& container) const;

  /// See CpuLedger::record and MemoryLedger::record.
  [[nodiscard]] bool record(const CpuAssignment& assignment);
  [[nodiscard]] bool record(const MemoryAssignment& assignment);
  void erase(std::string_view pod_uid, std::string_view container);
  void erase_pod(std::string_view pod_uid);

  const CpuLedger& cpus() const { return cpus_; }
  const MemoryLedger& memory() const { return memory_; }
  /// Pods with an assignment, ascending.
  std::vector<std::string> pods() const;
  bool has(std::string_view pod_uid) const;
  bool has(std::string_view pod_uid, std::string_view container) const;

  /// CPUs the container may run on, as Linux lists them; "": any.
  std::string cpuset_cpus(std::string_view pod_uid, std::string_view container) const;
  /// NUMA nodes its memory may be on; "": any.
  std::string cpuset_mems(std::string_view pod_uid, std::string_view container) const;

 private:
  Rules rules_;
  CpuLedger cpus_;
  MemoryLedger memory_;
};

} // namespace berth::topology
