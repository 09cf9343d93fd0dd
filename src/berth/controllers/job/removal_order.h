// Which active pods of a controller go first when there are too many. Order of Kubernetes'
// ActivePods: those without a node before assigned ones, Pending before Running, not ready before
// ready, ready for less time first, more restarts first, newer first.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "berth/controllers/job/pod_fact.h"

namespace berth::controllers {

using PodFacts = std::vector<std::shared_ptr<const PodFact>>;

/// True if `a` goes before `b`; a total order (by name last).
bool goes_before(const PodFact& a, const PodFact& b);

/// The `count` active pods to remove, in order. For an indexed Job: first those whose index
/// `unwanted` rejects and all but the best of each index, however many that are, then by order.
PodFacts pods_to_remove(PodFacts active, std::int64_t count);
PodFacts indexed_pods_to_remove(PodFacts active, std::int64_t count,
                                const std::function<bool(std::int64_t)>& wanted);

} // namespace berth::controllers
