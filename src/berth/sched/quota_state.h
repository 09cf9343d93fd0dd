// ElasticQuotas (scheduling.x-k8s.io/v1alpha1) as the scheduler counts them: what each namespace
// is guaranteed (min), the most it may hold (max), and what its placed pods ask for (used). Part of
// ClusterState, which counts every pod that comes and goes, what-if changes included.
// Source: scheduler-plugins pkg/capacityscheduling/elasticquota.go.
//   - One quota a namespace; of several the oldest counts, of equals the first by name.
//   - A resource that max does not name is not limited; one that min does not name is guaranteed 0.
//     (KEP 9's rule. scheduler-plugins applies it to extended resources alone: there a written max
//     without cpu refuses every pod that asks for cpu.)
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/model/elastic_quota.h"
#include "berth/sched/pod_info.h"
#include "berth/sched/resources.h"

namespace berth::sched {

using QuotaPtr = std::shared_ptr<const model::ElasticQuota>;

/// The quota of one namespace. Amounts as in NodeInfo. cpu, memory and ephemeral-storage are always
/// compared, other resources where they are asked for: a namespace over its limit in a resource
/// that a pod does not want still takes the pod.
struct NamespaceQuota {
  QuotaPtr object;
  Resources min;
  std::vector<std::pair<ResourceId, std::int64_t>> max; ///< sorted by id
  Resources used;

  bool over_max_with(const Resources& asked) const;
  bool over_min_with(const Resources& asked) const;
  /// It borrows what others are guaranteed.
  bool over_min() const;
};

/// Copyable. O(log quotas) unless said otherwise.
class QuotaState {
 public:
  bool empty() const { return namespaces_.empty(); }
  /// Adds or replaces. True if the namespace had no quota before: its pods are to be counted now.
  bool set(QuotaPtr quota, ResourceNames& names);
  /// Unknown keys are ignored. O(quotas).
  void remove(const api::Key& key, ResourceNames& names);
  /// A pod came to (sign 1) or left (-1) a node. Ignored where its namespace has no quota.
  void count(const PodInfo& pod, std::int64_t sign);

  /// Null: the namespace has no quota.
  const NamespaceQuota* find(std::string_view ns) const;
  /// Would `asked` more bring what all namespaces with quotas use above what they are guaranteed
  /// together?
  bool total_over_min_with(const Resources& asked) const;

  /// As ClusterState::dump.
  std::string dump(const ResourceNames& names) const;

 private:
  struct Entry {
    std::map<std::string, QuotaPtr, std::less<>> objects; ///< by name
    NamespaceQuota quota;
  };
  void choose(Entry& entry, ResourceNames& names);
  void sum_up();

  std::map<std::string, Entry, std::less<>> namespaces_;
  Resources total_min_;
  Resources total_used_;
};

/// Adds `sign` times the pod's requests.
void add_requests(Resources& to, const PodInfo& pod, std::int64_t sign = 1);

} // namespace berth::sched
