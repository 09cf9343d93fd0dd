#include "berth/controllers/pod_status.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "berth/api/json.h"
#include "berth/controllers/fields.h"

namespace berth::controllers {

namespace json = api::json;

namespace {

json::object& condition_in(json::object& status, std::string_view type) {
  json::value& list = status["conditions"];
  if (!list.is_array()) {
    list = json::array();
  }
  json::array& conditions = list.get_array();
  const auto it = std::ranges::find_if(
      conditions, [&](const json::value& c) { return api::string_at(c, "type") == type; });
  if (it != conditions.end()) {
    return it->get_object();
  }
  return conditions.emplace_back(json::object{{"type", type}}).get_object();
}

} // namespace

api::Object with_condition(const api::Object& pod, const PodCondition& condition, TimePoint now) {
  return pod.edit([&](json::object& document) {
    json::object& held = condition_in(api::object_at(document, "status"), condition.type);
    const json::value* before = held.if_contains("status");
    if (before == nullptr || !before->is_string() || before->get_string() != condition.status) {
      held["status"] = condition.status;
      held["lastTransitionTime"] = to_rfc3339(now);
    }
    if (!condition.reason.empty()) {
      held["reason"] = condition.reason;
    }
    if (!condition.message.empty()) {
      held["message"] = condition.message;
    }
  });
}

api::Object with_phase_failed(const api::Object& pod) {
  return pod.edit(
      [](json::object& document) { api::object_at(document, "status")["phase"] = "Failed"; });
}

std::vector<std::string> index_by_node(const api::Object& pod) {
  const std::string_view node = node_name(pod);
  return node.empty() ? std::vector<std::string>() : std::vector<std::string>{std::string(node)};
}

std::string_view node_name(const api::Object& pod) {
  return pod ? api::string_at(pod.json(), "spec.nodeName") : std::string_view();
}

bool terminal(const api::Object& pod) {
  const std::string_view phase = api::string_at(pod.json(), "status.phase");
  return phase == "Succeeded" || phase == "Failed";
}

bool pod_ready(const api::Object& pod) {
  const json::value* conditions = api::find_path(pod.json(), "status.conditions");
  return conditions != nullptr && conditions->is_array() &&
         std::ranges::any_of(conditions->get_array(), [](const json::value& c) {
           return api::string_at(c, "type") == "Ready" && api::string_at(c, "status") == "True";
         });
}

TimePoint ready_since(const api::Object& pod) {
  for (const json::value& condition : array_at(pod.json(), "status.conditions")) {
    if (api::string_at(condition, "type") == "Ready") {
      return parse_rfc3339(api::string_at(condition, "lastTransitionTime")).value_or(TimePoint());
    }
  }
  return {};
}

} // namespace berth::controllers
