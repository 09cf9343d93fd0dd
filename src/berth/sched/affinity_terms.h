// The pod affinity and anti-affinity terms of the pods that are placed: each distinct set of terms
// once, however many pods have it. What terms of others mean for a pod is then asked a set, not a
// pod.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "berth/sched/pod_info.h"

namespace berth::sched {

/// Grows with the number of distinct sets; ids are never reused. Copyable.
class AffinityTerms {
 public:
  /// Precondition: the pod has terms. Its namespace counts if a term speaks of its own namespace.
  /// Expected O(size of the terms).
  TermsId intern(const PodPtr& pod);
  /// A pod with these terms is placed (+1) or gone (-1).
  void count(TermsId terms, std::int64_t sign);

  /// Terms of placed pods, by id.
  std::span<const TermsId> present() const { return present_; }
  /// Some pod with these terms.
  const PodInfo& example(TermsId terms) const { return *entries_[terms.index()].example; }

 private:
  struct Entry {
    PodPtr example;
    std::int64_t placed = 0;
  };
  std::unordered_multimap<std::size_t, TermsId> by_hash_;
  std::vector<Entry> entries_; ///< by TermsId
  std::vector<TermsId> present_;
};

} // namespace berth::sched
