// PodTopologySpread and InterPodAffinity against their rules written out plainly: for every node,
// every constraint and every term, all pods are counted again. Incremental counting is held to this
// by way of schedule_one (decider_test.cc).
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/sched/plugins/inter_pod_affinity.h"
#include "berth/sched/plugins/node_affinity.h"
#include "berth/sched/plugins/pod_topology_spread.h"
#include "berth/testing/random_terms.h"
#include "berth/testing/scheduling_world.h"
#include "berth/testing/seeds.h"

namespace berth::sched {
namespace {

using test::node;
using test::pod;
using test::SchedulingWorld;

using Constraint = model::TopologySpreadConstraint;

/// The value of a label; none: the node does not have it.
std::optional<std::string> domain(const ClusterState& state, NodeId id, const std::string& key) {
  const auto& labels = state.node(id).labels();
  const auto it = labels.find(key);
  return it == labels.end() ? std::nullopt : std::optional(it->second);
}

std::vector<const PodInfo*> pods_on(const ClusterState& state, NodeId id) {
  std::vector<const PodInfo*> pods;
  for (const PodSlot slot : state.node(id).pods) {
    pods.push_back(state.placed(slot).pod.get());
  }
  return pods;
}

// ---- topology spread ----------------------------------------------------------------------------

std::vector<Constraint> constraints_of(const PodInfo& pod, std::string_view when) {
  std::vector<Constraint> all;
  for (Constraint constraint : pod.pod->spec.topology_spread_constraints) {
    if (constraint.when_unsatisfiable != when) {
      continue;
    }
    for (const std::string& key : constraint.match_label_keys) {
      if (constraint.label_selector && pod.pod->meta.labels.contains(key)) {
        constraint.label_selector->requirements.push_back(
            {.key = key, .op = api::Operator::In, .values = {pod.pod->meta.labels.at(key)}});
      }
    }
    all.push_back(constraint);
  }
  return all;
}

bool has_all(const ClusterState& state, NodeId id, const std::vector<Constraint>& constraints) {
  return std::ranges::all_of(constraints, [&](const Constraint& constraint) {
    return domain(state, id, constraint.topology_key).has_value();
  });
}

bool counts_node(const ClusterState& state, NodeId id, const Constraint& constraint,
                 const PodInfo& pod) {
  const model::Node& object = *state.node(id).node;
  if (constraint.node_affinity_policy != "Ignore" &&
      !matches_required_affinity(pod.pod->spec, object)) {
    return false;
  }
  return constraint.node_taints_policy != "Honor" ||
         std::ranges::all_of(object.taints, [&](const model::Taint& taint) {
           return taint.effect == "PreferNoSchedule" ||
                  model::tolerates(pod.pod->spec.tolerations, taint);
         });
}

std::int64_t matching(const ClusterState& state, NodeId id, const Constraint& constraint,
                      const PodInfo& pod) {
  std::int64_t count = 0;
  for (const PodInfo* other : pods_on(state, id)) {
    const bool matches = constraint.label_selector && !constraint.label_selector->empty() &&
                         constraint.label_selector->matches(other->pod->meta.labels);
    count += matches && other->ns() == pod.ns() && !other->pod->meta.deletion_timestamp ? 1 : 0;
  }
  return count;
}

/// Matching pods by domain, of the nodes that count.
std::map<std::string, std::int64_t> counts(const ClusterState& state, const PodInfo& pod,
                                           const Constraint& constraint,
                                           const std::vector<Constraint>& all) {
  std::map<std::string, std::int64_t> counts;
  for (const NodeId id : state.nodes()) {
    if (has_all(state, id, all) && counts_node(state, id, constraint, pod)) {
      counts[*domain(state, id, constraint.topology_key)] += matching(state, id, constraint, pod);
    }
  }
  return counts;
}

/// "" if the node passes, else the reason.
std::string spread_reason(const ClusterState& state, const PodInfo& pod, NodeId id) {
  const auto hard = constraints_of(pod, "DoNotSchedule");
  for (const Constraint& constraint : hard) {
    const auto here = domain(state, id, constraint.topology_key);
    if (!here) {
      return std::string(kReasonSpreadLabel);
    }
    const auto by_domain = counts(state, pod, constraint, hard);
    std::int64_t least = by_domain.empty() ? 0 : INT64_MAX;
    for (const auto& [value, count] : by_domain) {
      least = std::min(least, count);
    }
    if (static_cast<std::int64_t>(by_domain.size()) < constraint.min_domains.value_or(1)) {
      least = 0;
    }
    const bool self =
        constraint.label_selector && constraint.label_selector->matches(pod.pod->meta.labels);
    const std::int64_t count = by_domain.contains(*here) ? by_domain.at(*here) : 0;
    if (count + (self ? 1 : 0) - least > constraint.max_skew) {
      return std::string(kReasonSpread);
    }
  }
  return "";
}

/// By node name, of the feasible ones; empty: not scored.
std::map<std::string, std::int64_t> spread_scores(const ClusterState& state, const PodInfo& pod,
                                                  const std::vector<NodeId>& feasible) {
  const auto soft = constraints_of(pod, "ScheduleAnyway");
  std::map<std::string, std::int64_t> scores;
  std::map<std::string, std::int64_t> raw;
  for (const NodeId id : feasible) {
    scores[state.node_name(id)] = 0;
    if (!has_all(state, id, soft)) {
      continue;
    }
    double sum = 0;
    for (const Constraint& constraint : soft) {
      const bool by_host = constraint.topology_key == "kubernetes.io/hostname";
      std::int64_t size = 0;
      std::set<std::string> values;
      for (const NodeId other : feasible) {
        if (has_all(state, other, soft)) {
          ++size;
          values.insert(*domain(state, other, constraint.topology_key));
        }
      }
      size = by_host ? size : static_cast<std::int64_t>(values.size());
      const auto by_domain = counts(state, pod, constraint, soft);
      const auto here = by_domain.find(*domain(state, id, constraint.topology_key));
      const std::int64_t count = by_host                   ? matching(state, id, constraint, pod)
                                 : here == by_domain.end() ? 0
                                                           : here->second;
      sum += static_cast<double>(count) * std::log(static_cast<double>(size + 2)) +
             static_cast<double>(constraint.max_skew - 1);
    }
    raw[state.node_name(id)] = static_cast<std::int64_t>(std::round(sum));
  }
  std::int64_t low = INT64_MAX;
  std::int64_t high = INT64_MIN;
  for (const auto& [name, value] : raw) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  for (const auto& [name, value] : raw) {
    scores[name] = high == 0 ? 100 : 100 * (high + low - value) / high;
  }
  return soft.empty() ? std::map<std::string, std::int64_t>() : scores;
}

// ---- pod affinity -------------------------------------------------------------------------------

using Term = model::PodAffinityTerm;

std::vector<Term> required(const std::optional<model::PodAffinity>& affinity) {
  return affinity ? affinity->required : std::vector<Term>();
}

/// Pods of the cluster in the node's domain of the key; all pods on labelled nodes if `anywhere`.
template <class Count>
std::int64_t sum_over(const ClusterState& state, NodeId id, const std::string& key, bool anywhere,
                      const Count& count) {
  std::int64_t sum = 0;
  for (const NodeId other : state.nodes()) {
    const auto there = domain(state, other, key);
    if (there && (anywhere || there == domain(state, id, key))) {
      for (const PodInfo* placed : pods_on(state, other)) {
        sum += count(*placed);
      }
    }
  }
  return sum;
}

std::string affinity_reason(const ClusterState& state, const PodInfo& pod, NodeId id) {
  const auto own = required(pod.pod->spec.pod_affinity);
  const auto matches_all = [&](const PodInfo& other) -> std::int64_t {
    return std::ranges::all_of(own,
                               [&](const Term& term) { return covers(term, pod, other, state); })
               ? 1
               : 0;
  };
  bool everywhere = true;
  std::int64_t in_cluster = 0;
  for (const Term& term : own) {
    if (!domain(state, id, term.topology_key)) {
      return std::string(kReasonAffinityRules);
    }
    everywhere = everywhere && sum_over(state, id, term.topology_key, false, matches_all) > 0;
    in_cluster += sum_over(state, id, term.topology_key, true, matches_all);
  }
  if (!everywhere && !(in_cluster == 0 && matches_all(pod) > 0)) {
    return std::string(kReasonAffinityRules);
  }
  for (const Term& term : required(pod.pod->spec.pod_anti_affinity)) {
    const auto covered = [&](const PodInfo& other) -> std::int64_t {
      return covers(term, pod, other, state) ? 1 : 0;
    };
    if (domain(state, id, term.topology_key) &&
        sum_over(state, id, term.topology_key, false, covered) > 0) {
      return std::string(kReasonAntiAffinityRules);
    }
  }
  for (const NodeId other : state.nodes()) {
    for (const PodInfo* placed : pods_on(state, other)) {
      for (const Term& term : required(placed->pod->spec.pod_anti_affinity)) {
        const auto there = domain(state, other, term.topology_key);
        if (there && there == domain(state, id, term.topology_key) &&
            covers(term, *placed, pod, state)) {
          return std::string(kReasonExistingAntiAffinity);
        }
      }
    }
  }
  return "";
}

std::int64_t raw_affinity(const ClusterState& state, const PodInfo& pod, NodeId id) {
  std::int64_t sum = 0;
  const auto weigh = [&](const Term& term, std::int64_t weight, const PodInfo& owner,
                         const PodInfo& about, NodeId where) {
    const auto there = domain(state, where, term.topology_key);
    if (there && there == domain(state, id, term.topology_key) &&
        covers(term, owner, about, state)) {
      sum += weight;
    }
  };
  const auto preferences = [](const PodInfo& owner, const auto& visit) {
    for (const auto* affinity :
         {&owner.pod->spec.pod_affinity, &owner.pod->spec.pod_anti_affinity}) {
      const std::int64_t sign = affinity == &owner.pod->spec.pod_affinity ? 1 : -1;
      for (const auto& weighted :
           *affinity ? (*affinity)->preferred : std::vector<model::WeightedPodAffinityTerm>()) {
        visit(weighted.term, sign * weighted.weight);
      }
    }
  };
  for (const NodeId where : state.nodes()) {
    for (const PodInfo* placed : pods_on(state, where)) {
      preferences(pod, [&](const Term& term, std::int64_t weight) {
        weigh(term, weight, pod, *placed, where);
      });
      preferences(*placed, [&](const Term& term, std::int64_t weight) {
        weigh(term, weight, *placed, pod, where);
      });
      for (const Term& term : required(placed->pod->spec.pod_affinity)) {
        weigh(term, 1, *placed, pod, where);
      }
    }
  }
  return sum;
}

std::map<std::string, std::int64_t> affinity_scores(const ClusterState& state, const PodInfo& pod,
                                                    const std::vector<NodeId>& feasible) {
  std::map<std::string, std::int64_t> scores;
  std::int64_t low = INT64_MAX;
  std::int64_t high = INT64_MIN;
  for (const NodeId id : feasible) {
    const std::int64_t raw = raw_affinity(state, pod, id);
    scores[state.node_name(id)] = raw;
    low = std::min(low, raw);
    high = std::max(high, raw);
  }
  for (auto& [name, score] : scores) {
    score = high == low ? 0
                        : static_cast<std::int64_t>(100.0 * (static_cast<double>(score - low) /
                                                             static_cast<double>(high - low)));
  }
  return scores;
}

// ---- the comparison -----------------------------------------------------------------------------

class CrossNodeReference : public testing::TestWithParam<std::uint64_t> {
 protected:
  test::NodeBuilder random_node(int i) {
    auto builder = node(fmt::format("n{}", i));
    if (rng.chance(5, 6)) {
      builder.label("zone", fmt::format("z{}", rng.below(3)));
    }
    if (rng.chance(5, 6)) {
      builder.label("rack", fmt::format("r{}", rng.below(5)));
    }
    if (rng.chance(1, 8)) {
      builder.label("kubernetes.io/hostname", "shared");
    }
    if (rng.chance(1, 6)) {
      builder.taint("team", "NoSchedule", "x");
    }
    return builder;
  }
  test::PodBuilder random_pod(int i) {
    auto builder = pod(fmt::format("p{}", i));
    if (rng.chance(1, 5)) {
      builder.ns("other");
    }
    if (rng.chance(1, 6)) {
      builder.node_selector("zone", "z1");
    }
    if (rng.chance(1, 6)) {
      builder.tolerates_everything();
    }
    return terms.add_to(builder);
  }

  Rng rng{GetParam()};
  test::RandomTerms terms{rng};
};

/// The verdict and the scores of one plugin on every node agree with the plain rules.
template <class Reason, class Scores>
void expect_rules(std::string_view plugin, SchedulingWorld& world, const test::PodBuilder& builder,
                  const Reason& reason, const Scores& scores) {
  const ClusterState& state = world.state();
  const PodPtr wanted = world.describe(builder);
  const auto verdicts = world.verdicts(builder);
  std::vector<NodeId> feasible;
  for (const NodeId id : state.nodes()) {
    const std::string plain = reason(state, *wanted, id);
    const std::string& ours = verdicts.at(state.node_name(id));
    ASSERT_EQ(plain.empty() ? "ok" : plain, ours == "ok" ? ours : ours.substr(ours.find(": ") + 2))
        << plugin << " on " << state.node_name(id) << " of "
        << boost::json::serialize(builder.document());
    if (plain.empty()) {
      feasible.push_back(id);
    }
  }
  auto plain = scores(state, *wanted, feasible);
  const auto ours = world.scores(builder, plugin);
  const bool all_zero =
      std::ranges::all_of(plain, [](const auto& entry) { return entry.second == 0; });
  if (feasible.size() > 1 && !(ours.empty() && all_zero)) {
    ASSERT_EQ(ours, plain) << boost::json::serialize(builder.document());
  }
}

TEST_P(CrossNodeReference, PluginsSayWhatTheRulesSay) {
  SchedulingWorld spread(test::profile_of(kPodTopologySpread));
  SchedulingWorld affinity(test::profile_of(kInterPodAffinity));
  for (SchedulingWorld* world : {&spread, &affinity}) {
    world->state().set_namespace("default", {{"team", "x"}});
    world->state().set_namespace("other", {{"team", "y"}});
  }
  for (int i = 0; i < 14; ++i) {
    const auto builder = random_node(i);
    spread.with(builder);
    affinity.with(builder);
  }
  for (int i = 0; i < 40; ++i) {
    const auto builder = random_pod(i);
    expect_rules(kPodTopologySpread, spread, builder, spread_reason, spread_scores);
    expect_rules(kInterPodAffinity, affinity, builder, affinity_reason, affinity_scores);
    if (HasFatalFailure()) {
      FAIL() << "seed " << GetParam() << " pod " << i;
    }
    const std::string where = fmt::format("n{}", rng.below(14));
    spread.with(builder, where);
    affinity.with(builder, where);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, CrossNodeReference, test::seeds(30));

} // namespace
} // namespace berth::sched
