#include "berth/sched/plugins/inter_pod_affinity.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/api/strict.h"

namespace berth::sched {
namespace {

using Term = model::PodAffinityTerm;
using Terms = std::vector<Term>;

const Terms& required(const std::optional<model::PodAffinity>& affinity) {
  static const Terms kNone;
  return affinity ? affinity->required : kNone;
}

const std::vector<model::WeightedPodAffinityTerm>&
preferred(const std::optional<model::PodAffinity>& affinity) {
  static const std::vector<model::WeightedPodAffinityTerm> kNone;
  return affinity ? affinity->preferred : kNone;
}

const Terms& affinity_terms(const PodInfo& pod) {
  return required(pod.pod->spec.pod_affinity);
}
const Terms& anti_affinity_terms(const PodInfo& pod) {
  return required(pod.pod->spec.pod_anti_affinity);
}

/// Amounts by topology key and value; pairs that come to zero are dropped, unless kept.
class TopologyAmounts {
 public:
  void add(const model::Node& node, const std::string& key, std::int64_t amount) {
    if (const auto label = node.meta.labels.find(key); label != node.meta.labels.end()) {
      auto& values = by_key_[key];
      auto& sum = values[label->second];
      sum += amount;
    }
  }
  /// add(), forgetting pairs that come to zero.
  void count(const model::Node& node, const std::string& key, std::int64_t amount) {
    add(node, key, amount);
    const auto key_it = by_key_.find(key);
    if (key_it == by_key_.end()) {
      return;
    }
    std::erase_if(key_it->second, [](const auto& entry) { return entry.second == 0; });
    if (key_it->second.empty()) {
      by_key_.erase(key_it);
    }
  }
  std::int64_t at(const std::string& key, const std::string& value) const {
    const auto it = by_key_.find(key);
    if (it == by_key_.end()) {
      return 0;
    }
    const auto found = it->second.find(value);
    return found == it->second.end() ? 0 : found->second;
  }
  bool empty() const { return by_key_.empty(); }
  const std::map<std::string, std::map<std::string, std::int64_t>>& by_key() const {
    return by_key_;
  }

 private:
  std::map<std::string, std::map<std::string, std::int64_t>> by_key_;
};

enum Detail : std::uint64_t { kAffinity, kAntiAffinity, kExistingAntiAffinity };

class PodAffinityRun final : public Run {
 public:
  PodAffinityRun(PodPtr pod, const ClusterState& state, InterPodAffinityArgs args)
      : pod_(std::move(pod)), state_(&state), args_(args) {
    const bool own_terms = !affinity_terms(*pod_).empty() || !anti_affinity_terms(*pod_).empty();
    const auto nodes = own_terms ? state.nodes() : state.nodes_with_required_anti_affinity();
    for (const NodeId node : nodes) {
      for (const PodSlot slot : state.node(node).pods) {
        update(*state.placed(slot).pod, node, 1);
      }
    }
  }

  /// Without terms on either side there is nothing to look at.
  Reach reach() const override {
    const bool own_terms = pod_->has_affinity();
    return own_terms || !state_->nodes_with_affinity().empty() || !existing_anti_.empty()
               ? Reach::Cluster
               : Reach::Node;
  }

  /// Nothing can fail: no terms of its own, and nobody objects.
  bool has_no_filter() const {
    return existing_anti_.empty() && affinity_terms(*pod_).empty() &&
           anti_affinity_terms(*pod_).empty();
  }

  Verdict filter(NodeId id) const override {
    const model::Node& node = *state_->node(id).node;
    if (!satisfies_affinity(node)) {
      return Verdict::unresolvable(kAffinity);
    }
    for (const Term& term : anti_affinity_terms(*pod_)) {
      const auto label = node.meta.labels.find(term.topology_key);
      if (label != node.meta.labels.end() && anti_.at(term.topology_key, label->second) > 0) {
        return Verdict::unschedulable(kAntiAffinity);
      }
    }
    for (const auto& [key, values] : existing_anti_.by_key()) {
      const auto label = node.meta.labels.find(key);
      if (label != node.meta.labels.end() && existing_anti_.at(key, label->second) > 0) {
        return Verdict::unschedulable(kExistingAntiAffinity);
      }
    }
    return Verdict::feasible();
  }

  std::vector<std::string> reasons(NodeId, Verdict verdict) const override {
    switch (static_cast<Detail>(verdict.detail)) {
    case kAffinity:
      return {std::string(kReasonAffinityRules)};
    case kAntiAffinity:
      return {std::string(kReasonAntiAffinityRules)};
    case kExistingAntiAffinity:
      return {std::string(kReasonExistingAntiAffinity)};
    }
    return {};
  }

  void add_pod(const PodInfo& pod, NodeId node) override { update(pod, node, 1); }
  void remove_pod(const PodInfo& pod, NodeId node) override { update(pod, node, -1); }

  Status pre_score(std::span<const NodeId>) override {
    const bool own = !preferred(pod_->pod->spec.pod_affinity).empty() ||
                     !preferred(pod_->pod->spec.pod_anti_affinity).empty();
    if (!own && args_.ignore_preferred_terms_of_existing_pods) {
      return Status::skip();
    }
    for (const NodeId id : own ? state_->nodes() : state_->nodes_with_affinity()) {
      const NodeInfo& info = state_->node(id);
      for (const PodSlot slot : info.pods) {
        if (info.node) {
          weigh(*state_->placed(slot).pod, *info.node);
        }
      }
    }
    return weights_.empty() ? Status::skip() : Status::success();
  }

  std::int64_t score(NodeId id) const override {
    const model::Node& node = *state_->node(id).node;
    std::int64_t sum = 0;
    for (const auto& [key, values] : weights_.by_key()) {
      if (const auto label = node.meta.labels.find(key); label != node.meta.labels.end()) {
        sum += weights_.at(key, label->second);
      }
    }
    return sum;
  }

  void normalize(std::span<const NodeId>, std::span<std::int64_t> scores) const override {
    const auto [low, high] = std::ranges::minmax(scores);
    const auto spread = static_cast<double>(high - low);
    for (std::int64_t& score : scores) {
      // float64 in kube-scheduler's order: the share first, then scaled, truncated.
      const double scaled = spread > 0 ? static_cast<double>(kMaxNodeScore) *
                                             (static_cast<double>(score - low) / spread)
                                       : 0;
      score = static_cast<std::int64_t>(scaled);
    }
  }

 private:
  /// Counts (or uncounts) a pod on a node for the three rules of filter.
  void update(const PodInfo& other, NodeId id, std::int64_t sign) {
    const NodeInfo& info = state_->node(id);
    if (!info.node) {
      return;
    }
    for (const Term& term : anti_affinity_terms(other)) {
      if (covers(term, other, *pod_, *state_)) {
        existing_anti_.count(*info.node, term.topology_key, sign);
      }
    }
    if (!affinity_terms(*pod_).empty() && covered_by_all(affinity_terms(*pod_), other)) {
      for (const Term& term : affinity_terms(*pod_)) {
        affinity_.count(*info.node, term.topology_key, sign);
      }
    }
    for (const Term& term : anti_affinity_terms(*pod_)) {
      if (covers(term, *pod_, other, *state_)) {
        anti_.count(*info.node, term.topology_key, sign);
      }
    }
  }

  bool covered_by_all(const Terms& terms, const PodInfo& other) const {
    return std::ranges::all_of(
        terms, [&](const Term& term) { return covers(term, *pod_, other, *state_); });
  }

  bool satisfies_affinity(const model::Node& node) const {
    bool pods_exist = true;
    for (const Term& term : affinity_terms(*pod_)) {
      const auto label = node.meta.labels.find(term.topology_key);
      if (label == node.meta.labels.end()) {
        return false;
      }
      pods_exist = pods_exist && affinity_.at(term.topology_key, label->second) > 0;
    }
    // The first pod of a group that is to stay together may go anywhere.
    return pods_exist || (affinity_.empty() && covered_by_all(affinity_terms(*pod_), *pod_));
  }

  void weigh(const PodInfo& existing, const model::Node& node) {
    const auto add = [&](const model::WeightedPodAffinityTerm& weighted, const PodInfo& owner,
                         const PodInfo& other, std::int64_t sign) {
      if (covers(weighted.term, owner, other, *state_)) {
        weights_.add(node, weighted.term.topology_key, sign * weighted.weight);
      }
    };
    for (const auto& term : preferred(pod_->pod->spec.pod_affinity)) {
      add(term, *pod_, existing, 1);
    }
    for (const auto& term : preferred(pod_->pod->spec.pod_anti_affinity)) {
      add(term, *pod_, existing, -1);
    }
    if (args_.hard_pod_affinity_weight > 0) {
      for (const Term& term : affinity_terms(existing)) {
        if (covers(term, existing, *pod_, *state_)) {
          weights_.add(node, term.topology_key, args_.hard_pod_affinity_weight);
        }
      }
    }
    for (const auto& term : preferred(existing.pod->spec.pod_affinity)) {
      add(term, existing, *pod_, 1);
    }
    for (const auto& term : preferred(existing.pod->spec.pod_anti_affinity)) {
      add(term, existing, *pod_, -1);
    }
  }

  PodPtr pod_;
  const ClusterState* state_;
  InterPodAffinityArgs args_;
  TopologyAmounts existing_anti_;
  TopologyAmounts affinity_;
  TopologyAmounts anti_;
  TopologyAmounts weights_;
};

class InterPodAffinity final : public Plugin {
 public:
  explicit InterPodAffinity(InterPodAffinityArgs args) : args_(args) {}

  std::string_view name() const override { return kInterPodAffinity; }
  Points points() const override { return Point::Filter | Point::Score; }

  // Hints stay coarse: a term may select by namespace labels, which an event does not carry.
  std::vector<EventInterest> events() const override {
    return {{.resource = EventResource::AssignedPod,
             .action = actions::kAdd | actions::kDelete | actions::kPodLabel},
            {.resource = EventResource::UnscheduledPod, .action = actions::kPodLabel},
            {.resource = EventResource::Node, .action = actions::kAdd | actions::kNodeLabel}};
  }

  Hint hint(const PodInfo& pod, const ClusterEvent& event) const override {
    switch (event.resource) {
    case EventResource::UnscheduledPod:
      return event.new_pod && event.new_pod->uid == pod.uid ? Hint::Queue : Hint::Skip;
    case EventResource::AssignedPod: {
      // New pods can only satisfy affinity; pods that go can end anti-affinity, or be the last that
      // matched.
      const bool added_helps = !affinity_terms(pod).empty();
      return event.action != actions::kAdd || added_helps ? Hint::Queue : Hint::Skip;
    }
    case EventResource::Node:
    case EventResource::PodGroup:
    case EventResource::PersistentVolumeClaim:
    case EventResource::PersistentVolume:
    case EventResource::StorageClass:
    case EventResource::CsiNode:
    case EventResource::CsiDriver:
    case EventResource::CsiStorageCapacity:
    case EventResource::VolumeAttachment:
    case EventResource::ElasticQuota:
    case EventResource::NodeResourceTopology:
    case EventResource::Wildcard:
      return Hint::Queue;
    }
    return Hint::Queue;
  }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    auto run = std::make_unique<PodAffinityRun>(pod, state, args_);
    Prepared prepared;
    prepared.status = run->has_no_filter() ? Status::skip() : Status::success();
    prepared.run = std::move(run);
    return prepared;
  }

 private:
  InterPodAffinityArgs args_;
};

} // namespace

bool covers(const Term& term, const PodInfo& owner, const PodInfo& other,
            const ClusterState& state) {
  if (!term.label_selector || !term.label_selector->matches(other.pod->meta.labels)) {
    return false;
  }
  if (term.namespaces.empty() && !term.namespace_selector) {
    return other.ns() == owner.ns();
  }
  return std::ranges::find(term.namespaces, other.ns()) != term.namespaces.end() ||
         (term.namespace_selector &&
          term.namespace_selector->matches(state.namespace_labels(other.ns())));
}

void decode(const api::Field& in, InterPodAffinityArgs& out) {
  api::refuse_unknown(in, {"hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods"});
  in.within("hardPodAffinityWeight", [&](const api::Field& weight) {
    decode(weight, out.hard_pod_affinity_weight);
    api::check_range(weight, out.hard_pod_affinity_weight, 0, 100);
  });
  in.read("ignorePreferredTermsOfExistingPods", out.ignore_preferred_terms_of_existing_pods);
}

Result<InterPodAffinityArgs> parse_inter_pod_affinity_args(const boost::json::value& args) {
  return api::decode_document<InterPodAffinityArgs>(args);
}

std::unique_ptr<Plugin> make_inter_pod_affinity(InterPodAffinityArgs args) {
  return std::make_unique<InterPodAffinity>(args);
}

} // namespace berth::sched
