// PodDisruptionBudget (policy/v1) as preemption reads it: best effort, a budget only ranks
// candidates.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "berth/api/object.h"
#include "berth/api/selector.h"
#include "berth/base/result.h"

namespace berth::sched {

struct DisruptionBudget {
  api::Key key;
  api::Selector selector;               ///< empty: protects nothing here, as in kube-scheduler
  std::int64_t disruptions_allowed = 0; ///< status.disruptionsAllowed
  std::set<std::string, std::less<>> disrupted_pods; ///< status.disruptedPods, names

  bool operator==(const DisruptionBudget&) const = default;
};

/// Decodes a policy/v1 PodDisruptionBudget. Errors name the field.
Result<std::shared_ptr<const DisruptionBudget>>
decode_disruption_budget(const api::json::value& document);
inline Result<std::shared_ptr<const DisruptionBudget>>
disruption_budget_view(const api::Object& object) {
  return object.view<DisruptionBudget>(&decode_disruption_budget);
}

} // namespace berth::sched
