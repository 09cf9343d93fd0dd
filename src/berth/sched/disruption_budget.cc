#include "berth/sched/disruption_budget.h"

#include "berth/api/json.h"

namespace berth::sched {

Result<std::shared_ptr<const DisruptionBudget>>
decode_disruption_budget(const api::json::value& document) {
  BERTH_TRY(const api::ObjectMeta meta, api::parse_meta(document));
  DisruptionBudget budget{
      .key = {meta.ns, meta.name}, .selector = {}, .disruptions_allowed = 0, .disrupted_pods = {}};
  if (const auto* selector = api::find_path(document, "spec.selector")) {
    auto parsed = api::parse_label_selector(*selector);
    if (!parsed) {
      return fail_at({.file = {}, .line = 0, .column = 0, .field = "spec.selector"},
                     parsed.error().message);
    }
    budget.selector = std::move(*parsed);
  }
  if (const auto* allowed = api::find_path(document, "status.disruptionsAllowed")) {
    if (!allowed->is_int64() && !allowed->is_uint64()) {
      return fail_at({.file = {}, .line = 0, .column = 0, .field = "status.disruptionsAllowed"},
                     "expected an integer: " + api::to_json(*allowed));
    }
    budget.disruptions_allowed = allowed->to_number<std::int64_t>();
  }
  if (const auto* disrupted = api::find_path(document, "status.disruptedPods");
      disrupted && disrupted->is_object()) {
    for (const auto& [name, when] : disrupted->get_object()) {
      budget.disrupted_pods.emplace(name);
    }
  }
  return std::make_shared<const DisruptionBudget>(std::move(budget));
}

} // namespace berth::sched
