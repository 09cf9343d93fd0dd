#include "berth/scheduler/pod_status.h"

#include "berth/api/json.h"

namespace berth::scheduler {
namespace {

namespace json = api::json;

json::array conditions_of(const api::Object& pod) {
  const json::value* conditions = api::find_path(pod.json(), "status.conditions");
  return conditions != nullptr && conditions->is_array() ? conditions->as_array() : json::array();
}

/// Sets the condition in place, or appends it; false if it was just so.
bool set_condition(json::array& conditions, const ConditionChange& change, TimePoint now,
                   std::int64_t generation) {
  json::object* found = nullptr;
  for (json::value& condition : conditions) {
    if (condition.is_object() && api::string_at(condition, "type") == change.type) {
      found = &condition.as_object();
    }
  }
  if (found == nullptr) {
    found = &conditions.emplace_back(json::object()).as_object();
  }
  const json::value before(*found);
  const bool flips = api::string_at(before, "status") != change.status;
  if (!flips && api::string_at(before, "reason") == change.reason &&
      api::string_at(before, "message") == change.message) {
    return false;
  }
  (*found)["type"] = change.type;
  (*found)["status"] = change.status;
  (*found)["lastProbeTime"] = nullptr;
  if (flips) {
    (*found)["lastTransitionTime"] = to_rfc3339(now);
  }
  (*found)["reason"] = change.reason;
  (*found)["message"] = change.message;
  if (generation > 0) {
    (*found)["observedGeneration"] = generation;
  }
  return true;
}

} // namespace

std::optional<json::value> condition_patch(const api::Object& pod, const ConditionChange& change,
                                           std::optional<std::string_view> nominated_node,
                                           TimePoint now) {
  json::array conditions = conditions_of(pod);
  const bool condition_changes = set_condition(conditions, change, now, pod.meta().generation);
  const std::string_view nominated_before = api::string_at(pod.json(), "status.nominatedNodeName");
  const bool nomination_changes = nominated_node && *nominated_node != nominated_before;
  if (!condition_changes && !nomination_changes) {
    return std::nullopt;
  }
  json::object status;
  if (condition_changes) {
    status["conditions"] = std::move(conditions);
  }
  if (nomination_changes) {
    status["nominatedNodeName"] =
        nominated_node->empty() ? json::value(nullptr) : json::value(*nominated_node);
  }
  return json::object{{"status", std::move(status)}};
}

} // namespace berth::scheduler
