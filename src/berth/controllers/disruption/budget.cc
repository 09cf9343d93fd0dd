#include "berth/controllers/disruption/budget.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "berth/api/json.h"
#include "berth/controllers/fields.h"
#include "berth/controllers/pod_status.h"
#include "berth/controllers/share.h"

namespace berth::controllers {
namespace {

namespace json = api::json;

/// So long an evicted pod may take to be seen deleted.
constexpr Duration kDeletionTimeout = Duration::minutes(2);

struct Sizes {
  std::int64_t expected = 0;
  std::int64_t desired = 0;
};

Sizes sizes_of(const api::Object& budget, const BudgetQuestion& question) {
  const std::int64_t whole = question.owners_want;
  if (api::find_path(budget.json(), "spec.maxUnavailable") != nullptr) {
    const std::int64_t missing = share_at(budget.json(), "spec.maxUnavailable", {.whole = whole});
    return {.expected = whole, .desired = std::max<std::int64_t>(whole - missing, 0)};
  }
  if (api::find_path(budget.json(), "spec.minAvailable") == nullptr) {
    return {};
  }
  return {.expected = asks_owners(budget) ? whole : static_cast<std::int64_t>(question.pods.size()),
          .desired = share_at(budget.json(), "spec.minAvailable", {.whole = whole})};
}

struct Verdict {
  bool allowed;
  std::string_view reason;
  std::string_view message;
};

void set_condition(json::object& status, const Verdict& verdict, TimePoint now) {
  json::value& list = status["conditions"];
  json::array& conditions = list.is_array() ? list.get_array() : list.emplace_array();
  auto held = std::ranges::find_if(conditions, [](const json::value& one) {
    return api::string_at(one, "type") == "DisruptionAllowed";
  });
  if (held == conditions.end()) {
    conditions.emplace_back(json::object{{"type", "DisruptionAllowed"}});
    held = conditions.end() - 1;
  }
  json::object& condition = held->as_object();
  const std::string_view text = verdict.allowed ? "True" : "False";
  if (api::string_at(*held, "status") != text) {
    condition["status"] = text;
    condition["lastTransitionTime"] = to_rfc3339(now);
  }
  condition["reason"] = verdict.reason;
  condition["message"] = verdict.message;
  condition["observedGeneration"] =
      status.contains("observedGeneration") ? status.at("observedGeneration") : json::value(0);
}

} // namespace

bool asks_owners(const api::Object& budget) {
  const json::value* least = api::find_path(budget.json(), "spec.minAvailable");
  return api::find_path(budget.json(), "spec.maxUnavailable") != nullptr ||
         (least != nullptr && least->is_string());
}

BudgetAnswer judge_budget(const api::Object& budget, const BudgetQuestion& question) {
  BudgetAnswer answer;
  json::object disrupted;
  std::int64_t healthy = 0;
  for (const api::Object* pod : question.pods) {
    if (pod->meta().deletion_timestamp) {
      continue;
    }
    const json::value* map = api::find_path(budget.json(), "status.disruptedPods");
    const json::value* since = map == nullptr ? nullptr : api::find(*map, pod->meta().name);
    if (since != nullptr && since->is_string()) {
      const TimePoint until =
          parse_rfc3339(since->get_string()).value_or(TimePoint()) + kDeletionTimeout;
      if (until > question.now) {
        disrupted[pod->meta().name] = *since;
        answer.recheck = std::min(answer.recheck, until);
        continue;
      }
      answer.undeleted.push_back(pod->meta().name);
    }
    healthy += pod_ready(*pod) ? 1 : 0;
  }
  const Sizes sizes = sizes_of(budget, question);
  const std::int64_t allowed =
      sizes.expected > 0 ? std::max<std::int64_t>(healthy - sizes.desired, 0) : 0;
  answer.budget = budget.edit([&](json::object& document) {
    json::object& status = api::object_at(document, "status");
    status["currentHealthy"] = healthy;
    status["desiredHealthy"] = sizes.desired;
    status["expectedPods"] = sizes.expected;
    status["disruptionsAllowed"] = allowed;
    status["observedGeneration"] = budget.meta().generation;
    if (disrupted.empty()) {
      status.stable_erase("disruptedPods");
    } else {
      status["disruptedPods"] = std::move(disrupted);
    }
    set_condition(status,
                  {.allowed = allowed > 0,
                   .reason = allowed > 0 ? "SufficientPods" : "InsufficientPods",
                   .message = ""},
                  question.now);
  });
  return answer;
}

api::Object with_failed_sync(const api::Object& budget, std::string_view why, TimePoint now) {
  return budget.edit([&](json::object& document) {
    json::object& status = api::object_at(document, "status");
    status["disruptionsAllowed"] = 0;
    set_condition(status, {.allowed = false, .reason = "SyncFailed", .message = why}, now);
  });
}

} // namespace berth::controllers
