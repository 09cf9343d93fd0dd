// Which containers have CPUs of their own, and which CPUs all others share: the kubelet's static
// CPU manager policy. What is free is derived from who has what, so that nothing is forgotten.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/topology/cpu_policy.h"
#include "berth/topology/hint.h"
#include "berth/topology/pod_ask.h"

namespace berth::topology {

struct CpuAssignment {
  std::string pod_uid;
  std::string container;
  CpuSet cpus;

  bool operator==(const CpuAssignment&) const = default;
};

/// From where an init container's CPUs may come.
enum class Source {
  OwnPod, ///< only what its pod's app containers and other init containers have
  Any,
};

/// A value. Invariant: a CPU is one pod's, and within a pod one container's, except that what an
/// init container has others of its pod that do not run beside it may have too.
class CpuLedger {
 public:
  CpuLedger() = default;
  CpuLedger(std::shared_ptr<const Machine> machine, CpuRules rules);

  bool active() const { return rules_.policy == CpuPolicy::Static; }
  const CpuRules& rules() const { return rules_; }

  /// Hints for "cpu": of one container, or of the pod as a whole. Empty: the pod asks for none.
  std::vector<ResourceHints> hints(const PodAsk& ask, const ContainerAsk& container,
                                   Source source) const;
  std::vector<ResourceHints> pod_hints(const PodAsk& ask) const;

  /// Gives the container its CPUs, those on the hint's nodes first. Nothing for one that asks for
  /// none, or that has them.
  Granted<void> assign(const PodAsk& ask, const ContainerAsk& container,
                       std::optional<NumaMask> affinity);

  /// As was found on disk or in the runtime. False, and nothing changes, if the machine lacks one
  /// of the CPUs, one is reserved, or another pod has one.
  [[nodiscard]] bool record(const CpuAssignment& assignment);
  void erase(std::string_view pod_uid, std::string_view container);
  void erase_pod(std::string_view pod_uid);

  /// None: it has no CPUs of its own.
  std::optional<CpuSet> find(std::string_view pod_uid, std::string_view container) const;
  /// What containers without CPUs of their own run on.
  CpuSet shared_pool() const;
  /// Nobody's own and not reserved.
  CpuSet available() const;
  std::vector<CpuAssignment> all() const;

 private:
  struct Place {
    std::string pod_uid;
    std::string container;
    auto operator<=>(const Place&) const = default;
  };
  CpuSet taken() const;
  CpuSet reusable(const PodAsk& ask, const ContainerAsk& container) const;
  CpuSet usable(const CpuSet& free) const;
  CpuSet near(NumaMask affinity) const;
  std::vector<ResourceHints> make_hints(const CpuSet& free, const CpuSet& reusable,
                                        std::int64_t request) const;
  bool on_fewest_sockets(NumaMask set, int fewest_nodes) const;
  Granted<void> check_cores(int count, const CpuSet& own) const;

  std::shared_ptr<const Machine> machine_ = std::make_shared<const Machine>();
  CpuRules rules_;
  std::map<Place, CpuSet> assigned_;
};

} // namespace berth::topology
