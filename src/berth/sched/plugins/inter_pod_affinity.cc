#include "berth/sched/plugins/inter_pod_affinity.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "berth/api/strict.h"
#include "berth/sched/domain_tally.h"

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

/// What a tally counts. The first three count pods, by terms that are required.
enum class Role {
  Affinity,     ///< pods that every affinity term of the pod covers
  Anti,         ///< pods that an anti-affinity term of the pod covers
  ExistingAnti, ///< pods an anti-affinity term of which covers the pod
  Weight        ///< what preferred terms weigh, both ways
};

/// Up to so many domains a cell names the domain; with more, what is counted there.
constexpr std::size_t kFewDomains = 32;
/// With more cells than this, keeping them costs more than looking at every node.
constexpr std::size_t kMostDomains = 1024;
/// No sum of weights comes near it, other than UINT64_MAX, which is -1.
constexpr std::uint64_t kNoDomain = std::uint64_t{1} << 63;

/// Of one role and topology key, all terms together.
struct Tally {
  Role role;
  bool by_name; ///< cells name the domain
  DomainTally sums;

  /// What cells tell of a domain.
  std::uint64_t told(DomainId domain) const {
    if (!domain.valid()) {
      return kNoDomain;
    }
    if (by_name) {
      return domain.index();
    }
    const std::int64_t sum = sums.at(domain);
    return static_cast<std::uint64_t>(role == Role::Weight || sum == 0 ? sum : 1);
  }
};

/// What one pod adds to a tally.
struct Part {
  std::size_t tally = 0;
  std::int64_t amount = 0;
};

/// Calls visit(term, role, weight) for the terms of a placed pod that speak of a pod to schedule.
template <class Visit>
void for_each_existing_term(const PodInfo& existing, const InterPodAffinityArgs& args,
                            const Visit& visit) {
  for (const Term& term : anti_affinity_terms(existing)) {
    visit(term, Role::ExistingAnti, 1);
  }
  if (args.hard_pod_affinity_weight > 0) {
    for (const Term& term : affinity_terms(existing)) {
      visit(term, Role::Weight, args.hard_pod_affinity_weight);
    }
  }
  for (const auto& weighted : preferred(existing.pod->spec.pod_affinity)) {
    visit(weighted.term, Role::Weight, weighted.weight);
  }
  for (const auto& weighted : preferred(existing.pod->spec.pod_anti_affinity)) {
    visit(weighted.term, Role::Weight, -weighted.weight);
  }
}

bool selects_namespaces(const model::PodSpec& spec) {
  const auto any = [](const std::optional<model::PodAffinity>& affinity) {
    return std::ranges::any_of(
               required(affinity),
               [](const Term& term) { return term.namespace_selector.has_value(); }) ||
           std::ranges::any_of(preferred(affinity), [](const auto& weighted) {
             return weighted.term.namespace_selector.has_value();
           });
  };
  return any(spec.pod_affinity) || any(spec.pod_anti_affinity);
}

enum Detail : std::uint64_t { kAffinity, kAntiAffinity, kExistingAntiAffinity };

/// Of the terms of placed pods it knows those that are there when it is prepared: pods that others
/// speak of have another shade (InterPodAffinity::shade).
class PodAffinityRun final : public Run {
 public:
  PodAffinityRun(PodPtr pod, const ClusterState& state, InterPodAffinityArgs args)
      : pod_(std::move(pod)), state_(&state), namespaces_(state.namespace_version()),
        selects_namespaces_(selects_namespaces(pod_->pod->spec)) {
    const bool prefers = !preferred(pod_->pod->spec.pod_affinity).empty() ||
                         !preferred(pod_->pod->spec.pod_anti_affinity).empty();
    scores_ = prefers || !args.ignore_preferred_terms_of_existing_pods;
    read_own_terms();
    read_existing_terms(args);
    starts_group_ = std::ranges::all_of(
        affinity_terms(*pod_), [&](const Term& term) { return covers(term, *pod_, *pod_, state); });
    count();
  }

  /// Without terms on either side there is nothing to look at.
  Reach reach() const override {
    if (tallies_.empty()) {
      return Reach::Node;
    }
    const bool holds = !selects_namespaces_ || namespaces_ == state_->namespace_version();
    const bool too_many = std::ranges::any_of(tallies_, [](const Tally& tally) {
      return tally.by_name && tally.sums.topology().inhabited() > kMostDomains;
    });
    return holds && !too_many ? Reach::Domain : Reach::Cluster;
  }
  Grading grading() const override { return has(Role::Weight) ? Grading::Relative : Grading::None; }

  void follow(const NodeChange& change, std::vector<NodeId>& moved) override {
    if (change.pod != nullptr) {
      update(*change.pod, change.node, change.sign, &moved);
      return;
    }
    for (Tally& tally : tallies_) {
      const DomainId before = tally.sums.home(change.node);
      const DomainId after = tally.sums.topology().domain_of(change.node);
      if (tally.sums.set_home(change.node, after) && !tally.by_name) {
        tell_members(tally, before, moved);
        tell_members(tally, after, moved);
      }
    }
  }
  void cell(NodeId node, std::vector<std::uint64_t>& key) const override {
    for (const Tally& tally : tallies_) {
      key.push_back(tally.told(tally.sums.topology().domain_of(node)));
    }
  }

  /// Nothing can fail: no terms of its own, and nobody objects.
  bool has_no_filter() const {
    return !has(Role::Affinity) && !has(Role::Anti) && !has(Role::ExistingAnti);
  }

  Verdict filter(NodeId node) const override {
    if (!satisfies_affinity(node)) {
      return Verdict::unresolvable(kAffinity);
    }
    if (counts_any(Role::Anti, node)) {
      return Verdict::unschedulable(kAntiAffinity);
    }
    return counts_any(Role::ExistingAnti, node) ? Verdict::unschedulable(kExistingAntiAffinity)
                                                : Verdict::feasible();
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

  void add_pod(const PodInfo& pod, NodeId node) override { update(pod, node, 1, nullptr); }
  void remove_pod(const PodInfo& pod, NodeId node) override { update(pod, node, -1, nullptr); }

  Status pre_score(std::span<const NodeId>) override {
    const bool weighs = std::ranges::any_of(tallies_, [](const Tally& tally) {
      return tally.role == Role::Weight && tally.sums.nonzero() > 0;
    });
    return weighs ? Status::success() : Status::skip();
  }

  std::int64_t score(NodeId node) const override {
    std::int64_t sum = 0;
    for (const Tally& tally : tallies_) {
      if (tally.role == Role::Weight) {
        sum += tally.sums.at(tally.sums.topology().domain_of(node));
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
  void read_own_terms() {
    for (const Term& term : affinity_terms(*pod_)) {
      for_all_.push_back({.tally = tally_of(Role::Affinity, term), .amount = 1});
    }
    for (const Term& term : anti_affinity_terms(*pod_)) {
      own_.emplace_back(&term, Part{.tally = tally_of(Role::Anti, term), .amount = 1});
    }
    for (const auto& weighted : preferred(pod_->pod->spec.pod_affinity)) {
      own_.emplace_back(&weighted.term, Part{.tally = tally_of(Role::Weight, weighted.term),
                                             .amount = weighted.weight});
    }
    for (const auto& weighted : preferred(pod_->pod->spec.pod_anti_affinity)) {
      own_.emplace_back(&weighted.term, Part{.tally = tally_of(Role::Weight, weighted.term),
                                             .amount = -weighted.weight});
    }
  }

  void read_existing_terms(const InterPodAffinityArgs& args) {
    for (const TermsId id : state_->affinity_terms().present()) {
      const PodInfo& existing = state_->affinity_terms().example(id);
      std::vector<Part> parts;
      for_each_existing_term(existing, args, [&](const Term& term, Role role, std::int64_t weight) {
        if ((scores_ || role != Role::Weight) && covers(term, existing, *pod_, *state_)) {
          parts.push_back({.tally = tally_of(role, term), .amount = weight});
        }
      });
      if (!parts.empty()) {
        existing_.emplace(id, std::move(parts));
      }
    }
  }

  std::size_t tally_of(Role role, const Term& term) {
    const Topology& topology = state_->topology(term.topology_key);
    const auto known = std::ranges::find_if(tallies_, [&](const Tally& tally) {
      return tally.role == role && &tally.sums.topology() == &topology;
    });
    if (known == tallies_.end()) {
      tallies_.push_back({.role = role,
                          .by_name = topology.inhabited() <= kFewDomains,
                          .sums = DomainTally(topology)});
      return tallies_.size() - 1;
    }
    return static_cast<std::size_t>(known - tallies_.begin());
  }

  void count() {
    if (tallies_.empty()) {
      return;
    }
    const bool all = !own_.empty() || !for_all_.empty();
    for (std::uint32_t i = 0; i < state_->node_slots(); ++i) {
      const NodeInfo& info = state_->node(NodeId(i));
      for (Tally& tally : tallies_) {
        tally.sums.set_home(info.id, tally.sums.topology().domain_of(info.id));
      }
      if (all || info.pods_with_affinity > 0) {
        for (const PodSlot slot : info.pods) {
          update(*state_->placed(slot).pod, info.id, 1, nullptr);
        }
      }
    }
  }

  /// Counts (or uncounts) a pod on a node. Appends nodes whose cells changed, unless null.
  void update(const PodInfo& other, NodeId node, std::int64_t sign, std::vector<NodeId>* moved) {
    const auto add = [&](const Part& part) {
      Tally& tally = tallies_[part.tally];
      const DomainId home = tally.sums.home(node);
      const std::uint64_t before = tally.told(home);
      tally.sums.add(node, sign * part.amount);
      if (moved != nullptr && before != tally.told(home)) {
        tell_members(tally, home, *moved);
      }
    };
    if (!for_all_.empty() && covered_by_all(other)) {
      std::ranges::for_each(for_all_, add);
    }
    for (const auto& [term, part] : own_) {
      if (covers(*term, *pod_, other, *state_)) {
        add(part);
      }
    }
    if (other.terms.valid()) {
      if (const auto parts = existing_.find(other.terms); parts != existing_.end()) {
        std::ranges::for_each(parts->second, add);
      }
    }
  }
  static void tell_members(const Tally& tally, DomainId domain, std::vector<NodeId>& moved) {
    if (domain.valid()) {
      const auto members = tally.sums.topology().members(domain);
      moved.insert(moved.end(), members.begin(), members.end());
    }
  }

  bool covered_by_all(const PodInfo& other) const {
    return std::ranges::all_of(affinity_terms(*pod_), [&](const Term& term) {
      return covers(term, *pod_, other, *state_);
    });
  }
  bool has(Role role) const {
    return std::ranges::any_of(tallies_, [&](const Tally& tally) { return tally.role == role; });
  }
  bool counts_any(Role role, NodeId node) const {
    return std::ranges::any_of(tallies_, [&](const Tally& tally) {
      return tally.role == role && tally.sums.at(tally.sums.topology().domain_of(node)) > 0;
    });
  }

  bool satisfies_affinity(NodeId node) const {
    bool pods_exist = true;
    bool any_anywhere = false;
    for (const Tally& tally : tallies_) {
      if (tally.role == Role::Affinity) {
        const DomainId domain = tally.sums.topology().domain_of(node);
        if (!domain.valid()) {
          return false;
        }
        pods_exist = pods_exist && tally.sums.at(domain) > 0;
        any_anywhere = any_anywhere || tally.sums.nonzero() > 0;
      }
    }
    // The first pod of a group that is to stay together may go anywhere.
    return pods_exist || (!any_anywhere && starts_group_);
  }

  PodPtr pod_;
  const ClusterState* state_;
  std::uint64_t namespaces_; // version at the time of preparing
  bool selects_namespaces_;
  bool scores_ = true;
  bool starts_group_ = false;                     // its affinity terms cover itself
  std::vector<Tally> tallies_;                    // one a role and topology
  std::vector<Part> for_all_;                     // of pods that all its affinity terms cover
  std::vector<std::pair<const Term*, Part>> own_; // its other terms
  std::unordered_map<TermsId, std::vector<Part>> existing_; // of the terms that cover it
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
    case EventResource::ResourceQuota:
    case EventResource::NodeResourceTopology:
    case EventResource::Wildcard:
      return Hint::Queue;
    }
    return Hint::Queue;
  }

  bool sees_shades() const override { return true; }
  /// The terms of placed pods that cover the pod: labels, and those of its namespace, matter
  /// through them alone.
  void shade(const PodInfo& pod, const ClusterState& state,
             std::vector<std::uint32_t>& key) const override {
    for (const TermsId id : state.affinity_terms().present()) {
      const PodInfo& existing = state.affinity_terms().example(id);
      std::uint32_t number = 0;
      for_each_existing_term(existing, args_, [&](const Term& term, Role, std::int64_t) {
        if (covers(term, existing, pod, state)) {
          key.push_back(id.index());
          key.push_back(number);
        }
        ++number;
      });
    }
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
