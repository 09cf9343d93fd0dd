// PostFilter by preemption: looks for the node where evicting somebody lets the pod in at the least
// cost, and says who goes. What DefaultPreemption and CapacityScheduling share; they differ in whom
// a pod may evict. Source: kube-scheduler framework/preemption (spec 5.1).
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "berth/sched/preemption.h"

namespace berth::sched {

inline constexpr std::string_view kReasonNotHelpful = "Preemption is not helpful for scheduling";
inline constexpr std::string_view kReasonNever = "not eligible due to preemptionPolicy=Never.";
inline constexpr std::string_view kReasonTerminating =
    "not eligible due to a terminating pod on the nominated node.";

/// Of the nodes where eviction might help, which to try.
struct SearchBreadth {
  std::size_t first = 0;  ///< index of the first
  std::size_t enough = 0; ///< candidates after which to stop, if one of them breaks no budget
};

/// `breadth` is asked with the number of such nodes, if there are any. O(nodes * pods of a node *
/// filters).
PostFilterResult preempt(FilterSession& session, const VictimRule& rule,
                         const std::function<SearchBreadth(std::size_t)>& breadth);

} // namespace berth::sched
