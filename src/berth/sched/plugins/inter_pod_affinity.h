// InterPodAffinity (PreFilter, Filter, PreScore, Score). Filter: required affinity needs matching
// pods in the node's domain of every term's topologyKey (or, if no pod in the cluster matches, the
// pod matching its own terms); required anti-affinity, the pod's and that of existing pods, forbids
// them. Score: weights of preferred terms, both ways, summed over domains and scaled between lowest
// and highest. Source: kube-scheduler plugins/interpodaffinity. State: cross-node. Events: assigned
// pod added, deleted, relabelled; node added or relabelled.
#pragma once

#include <memory>

#include <boost/json/value.hpp>

#include "berth/base/result.h"
#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kInterPodAffinity = "InterPodAffinity";
inline constexpr std::string_view kReasonAffinityRules = "node(s) didn't match pod affinity rules";
inline constexpr std::string_view kReasonAntiAffinityRules =
    "node(s) didn't match pod anti-affinity rules";
inline constexpr std::string_view kReasonExistingAntiAffinity =
    "node(s) didn't satisfy existing pods anti-affinity rules";

struct InterPodAffinityArgs {
  std::int64_t hard_pod_affinity_weight = 1;
  bool ignore_preferred_terms_of_existing_pods = false;
};
/// As KubeSchedulerConfiguration writes it. Errors name the field.
Result<InterPodAffinityArgs> parse_inter_pod_affinity_args(const boost::json::value& args);

/// Does a term of `owner` cover `other`? Namespaces: listed ones and those the selector matches;
/// the owner's own if neither is given. No label selector covers nothing.
bool covers(const model::PodAffinityTerm& term, const PodInfo& owner, const PodInfo& other,
            const ClusterState& state);

std::unique_ptr<Plugin> make_inter_pod_affinity(InterPodAffinityArgs args);

} // namespace berth::sched
