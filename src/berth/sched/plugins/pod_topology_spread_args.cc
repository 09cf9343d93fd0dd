// Reads PodTopologySpreadArgs and applies kube-scheduler's validation.
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "berth/api/strict.h"
#include "berth/sched/plugins/pod_topology_spread.h"

namespace berth::sched {
namespace {

constexpr std::string_view kEmpty = "can not be empty";

void check_constraint(const api::Field& in, std::set<std::pair<std::string, std::string>>& seen) {
  api::refuse_unknown(in,
                      {"maxSkew", "topologyKey", "whenUnsatisfiable", "labelSelector", "minDomains",
                       "nodeAffinityPolicy", "nodeTaintsPolicy", "matchLabelKeys"});
  std::int64_t max_skew = 0;
  in.read("maxSkew", max_skew);
  if (max_skew <= 0) {
    in.fail_member("maxSkew",
                   fmt::format("Invalid value: {}: not in valid range (0, inf)", max_skew));
  }
  std::string key;
  in.read("topologyKey", key);
  if (key.empty()) {
    api::require(in, "topologyKey", kEmpty);
  }
  std::string when;
  in.read("whenUnsatisfiable", when);
  if (when.empty()) {
    api::require(in, "whenUnsatisfiable", kEmpty);
  }
  in.within("whenUnsatisfiable", [&](const api::Field& field) {
    api::check_choice(field, when, {"DoNotSchedule", "ScheduleAnyway"});
  });
  in.within("labelSelector", [](const api::Field& field) {
    field.fail("Forbidden: constraint must not define a selector, as they deduced for each pod");
  });
  if (!seen.emplace(key, when).second) {
    in.fail(fmt::format("Duplicate value: \"{{{}, {}}}\"", key, when));
  }
}

} // namespace

void decode(const api::Field& in, PodTopologySpreadArgs& out) {
  api::refuse_unknown(in, {"defaultingType", "defaultConstraints"});
  std::string type = "System";
  in.read("defaultingType", type);
  in.within("defaultingType", [&](const api::Field& field) {
    api::check_choice(field, type, {"System", "List"});
  });
  std::set<std::pair<std::string, std::string>> seen;
  in.within("defaultConstraints", [&](const api::Field& list) {
    list.each([&](const api::Field& item) {
      check_constraint(item, seen);
      ++out.default_constraints;
    });
  });
  if (type == "System" && out.default_constraints > 0) {
    in.fail_member("defaultingType",
                   "Invalid value: \"System\": when .defaultConstraints are not empty");
  }
}

Result<PodTopologySpreadArgs> parse_pod_topology_spread_args(const boost::json::value& args) {
  return api::decode_document<PodTopologySpreadArgs>(args);
}

} // namespace berth::sched
