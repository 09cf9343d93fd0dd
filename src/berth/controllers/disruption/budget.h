// What a PodDisruptionBudget allows, as a pure function of its pods. Source: kubernetes
// pkg/controller/disruption.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/object.h"
#include "berth/base/time.h"

namespace berth::controllers {

/// Whether its sizes are of the number of pods that the pods' owners want, not of those there are:
/// every maxUnavailable, and minAvailable in percent.
bool asks_owners(const api::Object& budget);

struct BudgetQuestion {
  std::vector<const api::Object*> pods; ///< that it selects
  std::int64_t owners_want = 0;         ///< if asks_owners
  TimePoint now;
};

struct BudgetAnswer {
  api::Object budget; ///< with its status
  /// When an eviction that was allowed, and has not happened, is given up; max() for never.
  TimePoint recheck = TimePoint::max();
  std::vector<std::string> undeleted; ///< pods whose eviction was given up now
};

/// O(pods log pods).
BudgetAnswer judge_budget(const api::Object& budget, const BudgetQuestion& question);

/// The budget as it is when nothing can be said of it: it allows nothing.
api::Object with_failed_sync(const api::Object& budget, std::string_view why, TimePoint now);

} // namespace berth::controllers
