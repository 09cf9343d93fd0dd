// Which containers have memory of their own on which NUMA nodes: the kubelet's Static memory
// manager policy. A node serves containers that are on it alone, or on one group of nodes, never
// both; so what a group has left is what its nodes have less what was given on that group. What is
// free is derived from who has what.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/topology/hint.h"
#include "berth/topology/machine.h"
#include "berth/topology/memory_policy.h"
#include "berth/topology/pod_ask.h"
#include "berth/topology/refusal.h"

namespace berth::topology {

struct MemoryAssignment {
  std::string pod_uid;
  std::string container;
  NumaMask nodes;
  /// What this container added to what its pod had there: an init container uses the memory of
  /// containers that do not run beside it.
  MemoryAmounts amounts;

  bool operator==(const MemoryAssignment&) const = default;
};

/// A value. Invariants: of two assignments the nodes are equal or disjoint; on no set of nodes is
/// more given than there is.
class MemoryLedger {
 public:
  MemoryLedger() = default;
  MemoryLedger(std::shared_ptr<const Machine> machine, MemoryRules rules);

  bool active() const { return rules_.policy == MemoryPolicy::Static; }
  const MemoryRules& rules() const { return rules_; }

  /// Hints for each kind of memory: of one container, or of the pod as a whole. Empty: the pod asks
  /// for none.
  std::vector<ResourceHints> hints(const PodAsk& ask, const ContainerAsk& container) const;
  std::vector<ResourceHints> pod_hints(const PodAsk& ask) const;

  /// Gives the container its memory on the hint's nodes, or on more where these do not do; where
  /// there is no hint, on as few as possible.
  Granted<void> assign(const PodAsk& ask, const ContainerAsk& container, const Hint& hint);

  /// As was found on disk or in the runtime. False, and nothing changes, if the machine lacks one
  /// of the nodes or an invariant would break.
  [[nodiscard]] bool record(const MemoryAssignment& assignment);
  void erase(std::string_view pod_uid, std::string_view container);
  void erase_pod(std::string_view pod_uid);

  const MemoryAssignment* find(std::string_view pod_uid, std::string_view container) const;
  std::vector<MemoryAssignment> all() const;
  /// Of one kind on exactly these nodes, as a group; 0 if they may not be one now.
  std::int64_t free(NumaMask nodes, const std::string& resource) const;
  /// The same on an empty machine.
  std::int64_t allocatable(NumaMask nodes, const std::string& resource) const;

 private:
  struct Place {
    std::string pod_uid;
    std::string container;
    auto operator<=>(const Place&) const = default;
  };
  /// What is asked, and for whom.
  struct Request {
    const PodAsk* ask = nullptr;
    const ContainerAsk* container = nullptr; ///< none: the pod as a whole
    MemoryAmounts amounts;
  };
  bool may_group(NumaMask nodes) const;
  std::int64_t reusable(const Request& request, NumaMask nodes, const std::string& resource) const;
  bool enough(const Request& request, NumaMask nodes) const;
  bool could_ever(const MemoryAmounts& amounts, NumaMask nodes) const;
  std::vector<Hint> sets_for(const Request& request) const;
  std::vector<NumaMask> candidates(const Request& request) const;
  std::vector<ResourceHints> hints_for(const Request& request) const;
  Granted<NumaMask> choose(const Request& request, const Hint& hint) const;

  std::shared_ptr<const Machine> machine_ = std::make_shared<const Machine>();
  MemoryRules rules_;
  std::map<Place, MemoryAssignment> assigned_;
};

} // namespace berth::topology
