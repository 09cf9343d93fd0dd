#include "berth/controllers/node/node_plan.h"

#include <algorithm>
#include <array>

#include <boost/json/object.hpp>

#include "berth/api/json.h"

namespace berth::controllers {
namespace {

namespace json = api::json;
using model::Taint;

constexpr std::array<std::string_view, 4> kReportedConditions = {"Ready", "MemoryPressure",
                                                                 "DiskPressure", "PIDPressure"};

struct ConditionTaint {
  std::string_view condition;
  std::string_view status;
  std::string_view key;
  std::string_view effect;
};

/// A condition in this status demands this taint, and every taint named here is ours to take away.
constexpr std::array<ConditionTaint, 8> kConditionTaints = {{
    {"Ready", "False", kNotReadyTaint, "NoSchedule"},
    {"Ready", "False", kNotReadyTaint, "NoExecute"},
    {"Ready", "Unknown", kUnreachableTaint, "NoSchedule"},
    {"Ready", "Unknown", kUnreachableTaint, "NoExecute"},
    {"MemoryPressure", "True", "node.kubernetes.io/memory-pressure", "NoSchedule"},
    {"DiskPressure", "True", "node.kubernetes.io/disk-pressure", "NoSchedule"},
    {"PIDPressure", "True", "node.kubernetes.io/pid-pressure", "NoSchedule"},
    {"NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable", "NoSchedule"},
}};
constexpr std::string_view kUnschedulableTaint = "node.kubernetes.io/unschedulable";

bool is(const Taint& taint, std::string_view key, std::string_view effect) {
  return taint.key == key && taint.effect == effect;
}

/// Whether the taint is the controller's own kind, demanded or not.
bool managed(const Taint& taint) {
  return is(taint, kUnschedulableTaint, "NoSchedule") ||
         std::ranges::any_of(kConditionTaints,
                             [&](const ConditionTaint& t) { return is(taint, t.key, t.effect); });
}

bool demanded(const model::Node& node, const Taint& taint) {
  if (is(taint, kUnschedulableTaint, "NoSchedule")) {
    return node.unschedulable;
  }
  return std::ranges::any_of(kConditionTaints, [&](const ConditionTaint& t) {
    return is(taint, t.key, t.effect) && condition_status(node, t.condition) == t.status;
  });
}

void set_unknown(json::object& condition, std::string_view reason, std::string_view message,
                 TimePoint now) {
  condition["status"] = "Unknown";
  condition["reason"] = reason;
  condition["message"] = message;
  condition["lastTransitionTime"] = to_rfc3339(now);
}

} // namespace

std::string_view condition_status(const model::Node& node, std::string_view type) {
  const auto it = std::ranges::find(node.conditions, type, &model::Condition::type);
  return it == node.conditions.end() ? std::string_view() : it->status;
}

std::optional<json::array> silent_conditions(const api::Object& node, TimePoint now) {
  const json::value* stored = api::find_path(node.json(), "status.conditions");
  json::array conditions =
      stored != nullptr && stored->is_array() ? stored->get_array() : json::array();
  bool changed = false;
  for (const std::string_view type : kReportedConditions) {
    const auto it = std::ranges::find_if(
        conditions, [&](const json::value& c) { return api::string_at(c, "type") == type; });
    if (it == conditions.end()) {
      json::object fresh{
          {"type", type},
          {"lastHeartbeatTime", to_rfc3339(node.meta().creation_timestamp.value_or(now))}};
      set_unknown(fresh, "NodeStatusNeverUpdated", "Kubelet never posted node status.", now);
      conditions.emplace_back(std::move(fresh));
      changed = true;
    } else if (api::string_at(*it, "status") != "Unknown") {
      set_unknown(it->as_object(), "NodeStatusUnknown", "Kubelet stopped posting node status.",
                  now);
      changed = true;
    }
  }
  return changed ? std::optional(std::move(conditions)) : std::nullopt;
}

std::optional<std::vector<Taint>> demanded_taints(const model::Node& node, TimePoint now) {
  std::vector<Taint> taints;
  for (const Taint& taint : node.taints) {
    if (!managed(taint) || demanded(node, taint)) {
      taints.push_back(taint);
    }
  }
  const auto demand = [&](std::string_view key, std::string_view effect) {
    const bool present =
        std::ranges::any_of(taints, [&](const Taint& t) { return is(t, key, effect); });
    Taint taint{
        .key = std::string(key), .value = {}, .effect = std::string(effect), .time_added = now};
    if (!present && demanded(node, taint)) {
      taints.push_back(std::move(taint));
    }
  };
  for (const ConditionTaint& t : kConditionTaints) {
    demand(t.key, t.effect);
  }
  demand(kUnschedulableTaint, "NoSchedule");
  return taints == node.taints ? std::nullopt : std::optional(std::move(taints));
}

json::array write_taints(const std::vector<Taint>& taints) {
  json::array array;
  for (const Taint& taint : taints) {
    json::object item{{"key", taint.key}, {"effect", taint.effect}};
    if (!taint.value.empty()) {
      item["value"] = taint.value;
    }
    if (taint.time_added) {
      item["timeAdded"] = to_rfc3339(*taint.time_added);
    }
    array.emplace_back(std::move(item));
  }
  return array;
}

} // namespace berth::controllers
