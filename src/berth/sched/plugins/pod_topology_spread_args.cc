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

constexpr std::string_view kHostname = "kubernetes.io/hostname";
constexpr std::string_view kZone = "topology.kubernetes.io/zone";

model::TopologySpreadConstraint soft(std::string_view key, std::int64_t max_skew) {
  model::TopologySpreadConstraint out;
  out.topology_key = key;
  out.max_skew = max_skew;
  out.when_unsatisfiable = "ScheduleAnyway";
  return out;
}

void read_policy(const api::Field& in, std::string_view member, std::string& out) {
  in.read(member, out);
  in.within(member, [&](const api::Field& field) {
    api::check_choice(field, out, {"Honor", "Ignore"});
  });
}

using Seen = std::set<std::pair<std::string, std::string>>;

model::TopologySpreadConstraint read_constraint(const api::Field& in, Seen& seen) {
  model::TopologySpreadConstraint out;
  api::refuse_unknown(in,
                      {"maxSkew", "topologyKey", "whenUnsatisfiable", "labelSelector", "minDomains",
                       "nodeAffinityPolicy", "nodeTaintsPolicy", "matchLabelKeys"});
  out.max_skew = 0;
  in.read("maxSkew", out.max_skew);
  if (out.max_skew <= 0) {
    in.fail_member("maxSkew",
                   fmt::format("Invalid value: {}: not in valid range (0, inf)", out.max_skew));
  }
  const std::string& key = out.topology_key;
  in.read("topologyKey", out.topology_key);
  if (key.empty()) {
    api::require(in, "topologyKey", kEmpty);
  }
  std::string& when = out.when_unsatisfiable;
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
  in.read("minDomains", out.min_domains);
  read_policy(in, "nodeAffinityPolicy", out.node_affinity_policy);
  read_policy(in, "nodeTaintsPolicy", out.node_taints_policy);
  in.read("matchLabelKeys", out.match_label_keys);
  if (!seen.emplace(key, when).second) {
    in.fail(fmt::format("Duplicate value: \"{{{}, {}}}\"", key, when));
  }
  return out;
}

} // namespace

void decode(const api::Field& in, PodTopologySpreadArgs& out) {
  api::refuse_unknown(in, {"defaultingType", "defaultConstraints"});
  std::string type = "System";
  in.read("defaultingType", type);
  in.within("defaultingType", [&](const api::Field& field) {
    api::check_choice(field, type, {"System", "List"});
  });
  std::vector<model::TopologySpreadConstraint> written;
  Seen seen;
  in.within("defaultConstraints", [&](const api::Field& list) {
    list.each([&](const api::Field& item) { written.push_back(read_constraint(item, seen)); });
  });
  if (type == "System" && !written.empty()) {
    in.fail_member("defaultingType",
                   "Invalid value: \"System\": when .defaultConstraints are not empty");
  }
  if (type == "List") {
    out.defaulting = PodTopologySpreadArgs::Defaulting::List;
    out.default_constraints = std::move(written);
  }
}

std::vector<model::TopologySpreadConstraint> PodTopologySpreadArgs::system_default_constraints() {
  return {soft(kHostname, 3), soft(kZone, 5)};
}

Result<PodTopologySpreadArgs> parse_pod_topology_spread_args(const boost::json::value& args) {
  return api::decode_document<PodTopologySpreadArgs>(args);
}

} // namespace berth::sched
