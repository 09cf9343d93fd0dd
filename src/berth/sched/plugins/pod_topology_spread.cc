#include "berth/sched/plugins/pod_topology_spread.h"

#include <algorithm>
#include <cmath>

#include "berth/sched/plugins/node_affinity.h"

namespace berth::sched {
namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";

/// A constraint with its selector completed by matchLabelKeys.
struct Constraint {
  std::int64_t max_skew = 1;
  std::string topology_key;
  std::optional<api::Selector> selector; ///< none: matches nothing
  std::int64_t min_domains = 1;
  bool honor_affinity = true;
  bool honor_taints = false;

  /// An empty selector counts nobody, yet matches the pod itself: kube-scheduler's rule.
  bool counts(const PodInfo& other) const {
    return selector && !selector->empty() && !other.pod->meta.deletion_timestamp &&
           selector->matches(other.pod->meta.labels);
  }
  bool matches_self(const PodInfo& pod) const {
    return selector && selector->matches(pod.pod->meta.labels);
  }
};

using WrittenConstraints = std::vector<model::TopologySpreadConstraint>;

bool has_own_constraints(const PodInfo& pod) {
  return !pod.pod->spec.topology_spread_constraints.empty();
}

/// What holds for the pod: its own constraints, else the defaults for the pods that its Services
/// and its controller select.
WrittenConstraints constraints_for(const PodInfo& pod, const ClusterState& state,
                                   const PodTopologySpreadArgs& args) {
  if (has_own_constraints(pod)) {
    return pod.pod->spec.topology_spread_constraints;
  }
  if (args.default_constraints.empty() || state.workloads().empty()) {
    return {};
  }
  const api::Selector selector = state.workloads().selector_of(*pod.pod);
  if (selector.empty()) {
    return {};
  }
  WrittenConstraints out = args.default_constraints;
  for (auto& constraint : out) {
    constraint.label_selector = selector;
  }
  return out;
}

std::vector<Constraint> constraints_of(const PodInfo& pod, const WrittenConstraints& all,
                                       std::string_view when) {
  std::vector<Constraint> constraints;
  for (const auto& written : all) {
    if (written.when_unsatisfiable != when) {
      continue;
    }
    Constraint constraint{.max_skew = written.max_skew,
                          .topology_key = written.topology_key,
                          .selector = written.label_selector,
                          .min_domains = written.min_domains.value_or(1),
                          .honor_affinity = written.node_affinity_policy != "Ignore",
                          .honor_taints = written.node_taints_policy == "Honor"};
    for (const std::string& key : written.match_label_keys) {
      const auto label = pod.pod->meta.labels.find(key);
      if (constraint.selector && label != pod.pod->meta.labels.end()) {
        constraint.selector->requirements.push_back(
            {.key = key, .op = api::Operator::In, .values = {label->second}});
      }
    }
    constraints.push_back(std::move(constraint));
  }
  return constraints;
}

/// Of nodes without the label too, where these count.
const std::string& value_of(const model::Node& node, const std::string& key) {
  static const std::string kNone;
  const auto it = node.meta.labels.find(key);
  return it == node.meta.labels.end() ? kNone : it->second;
}

bool has_all_keys(const model::Node& node, const std::vector<Constraint>& constraints) {
  return std::ranges::all_of(
      constraints, [&](const Constraint& c) { return node.meta.labels.contains(c.topology_key); });
}

/// nodeAffinityPolicy and nodeTaintsPolicy: does the node count for the constraint at all?
bool included(const Constraint& constraint, const PodInfo& pod, const model::Node& node) {
  if (constraint.honor_affinity && !matches_required_affinity(pod.pod->spec, node)) {
    return false;
  }
  return !constraint.honor_taints ||
         std::ranges::all_of(node.taints, [&](const model::Taint& taint) {
           return taint.effect == "PreferNoSchedule" ||
                  model::tolerates(pod.pod->spec.tolerations, taint);
         });
}

std::int64_t count_on(const ClusterState& state, const NodeInfo& node, const Constraint& constraint,
                      const PodInfo& pod) {
  return std::ranges::count_if(node.pods, [&](PodSlot slot) {
    const PodInfo& other = *state.placed(slot).pod;
    return other.ns() == pod.ns() && constraint.counts(other);
  });
}

/// Matching pods by domain, with the least count at hand. O(log domains) a change.
class Domains {
 public:
  void add(const std::string& value, std::int64_t delta) {
    const auto [it, fresh] = counts_.try_emplace(value, 0);
    if (!fresh) {
      drop(it->second);
    }
    it->second += delta;
    ++by_count_[it->second];
  }
  std::int64_t at(const std::string& value) const {
    const auto it = counts_.find(value);
    return it == counts_.end() ? 0 : it->second;
  }
  std::int64_t least(std::int64_t min_domains) const {
    const bool too_few = static_cast<std::int64_t>(counts_.size()) < min_domains;
    return too_few || by_count_.empty() ? 0 : by_count_.begin()->first;
  }

 private:
  void drop(std::int64_t count) {
    const auto it = by_count_.find(count);
    if (--it->second == 0) {
      by_count_.erase(it);
    }
  }
  std::map<std::string, std::int64_t> counts_;
  std::map<std::int64_t, std::int64_t> by_count_; // count -> domains that have it
};

enum Detail : std::uint64_t { kSkew, kMissingLabel };

class SpreadRun final : public Run {
 public:
  /// Scoring ignores nodes that lack a label, unless the constraints are the system's.
  enum class Lacking { Ignored, Counted };

  SpreadRun(PodPtr pod, const ClusterState& state, const WrittenConstraints& constraints,
            Lacking lacking)
      : pod_(std::move(pod)), state_(&state), lacking_(lacking),
        hard_(constraints_of(*pod_, constraints, "DoNotSchedule")),
        soft_(constraints_of(*pod_, constraints, "ScheduleAnyway")), domains_(hard_.size()) {
    for (const NodeId id : hard_.empty() ? std::span<const NodeId>() : state.nodes()) {
      const NodeInfo& info = state.node(id);
      if (!has_all_keys(*info.node, hard_)) {
        continue;
      }
      for (std::size_t i = 0; i < hard_.size(); ++i) {
        if (included(hard_[i], *pod_, *info.node)) {
          domains_[i].add(info.labels().at(hard_[i].topology_key),
                          count_on(state, info, hard_[i], *pod_));
        }
      }
    }
  }

  bool has_no_filter() const { return hard_.empty(); }

  Verdict filter(NodeId id) const override {
    const auto& labels = state_->node(id).labels();
    for (std::size_t i = 0; i < hard_.size(); ++i) {
      const Constraint& constraint = hard_[i];
      const auto label = labels.find(constraint.topology_key);
      if (label == labels.end()) {
        return Verdict::unresolvable(kMissingLabel);
      }
      const std::int64_t self = constraint.matches_self(*pod_) ? 1 : 0;
      const std::int64_t skew =
          domains_[i].at(label->second) + self - domains_[i].least(constraint.min_domains);
      if (skew > constraint.max_skew) {
        return Verdict::unschedulable(kSkew);
      }
    }
    return Verdict::feasible();
  }

  std::vector<std::string> reasons(NodeId, Verdict verdict) const override {
    return {std::string(verdict.detail == kMissingLabel ? kReasonSpreadLabel : kReasonSpread)};
  }

  void add_pod(const PodInfo& pod, NodeId node) override { update(pod, node, 1); }
  void remove_pod(const PodInfo& pod, NodeId node) override { update(pod, node, -1); }

  Status pre_score(std::span<const NodeId> feasible) override {
    if (soft_.empty()) {
      return Status::skip();
    }
    counts_.assign(soft_.size(), {});
    ignored_.assign(state_->node_slots(), false);
    std::int64_t ignored = 0;
    for (const NodeId id : feasible) {
      const model::Node& node = *state_->node(id).node;
      if (!is_scored(node)) {
        ignored_[id.index()] = true;
        ++ignored;
        continue;
      }
      for (std::size_t i = 0; i < soft_.size(); ++i) {
        if (soft_[i].topology_key != kHostname) {
          counts_[i].try_emplace(value_of(node, soft_[i].topology_key), 0);
        }
      }
    }
    weights_.clear();
    for (std::size_t i = 0; i < soft_.size(); ++i) {
      const auto size = soft_[i].topology_key == kHostname
                            ? static_cast<std::int64_t>(feasible.size()) - ignored
                            : static_cast<std::int64_t>(counts_[i].size());
      weights_.push_back(std::log(static_cast<double>(size + 2)));
    }
    count_domains();
    return Status::success();
  }

  std::int64_t score(NodeId id) const override {
    if (ignored_[id.index()]) {
      return 0;
    }
    const NodeInfo& info = state_->node(id);
    double sum = 0;
    for (std::size_t i = 0; i < soft_.size(); ++i) {
      const Constraint& constraint = soft_[i];
      if (!info.labels().contains(constraint.topology_key)) {
        continue;
      }
      const std::int64_t count = constraint.topology_key == kHostname
                                     ? count_on(*state_, info, constraint, *pod_)
                                     : counts_[i].at(info.labels().at(constraint.topology_key));
      sum +=
          static_cast<double>(count) * weights_[i] + static_cast<double>(constraint.max_skew - 1);
    }
    return static_cast<std::int64_t>(std::round(sum));
  }

  void normalize(std::span<const NodeId> nodes, std::span<std::int64_t> scores) const override {
    std::int64_t low = INT64_MAX;
    std::int64_t high = INT64_MIN;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!ignored_[nodes[i].index()]) {
        low = std::min(low, scores[i]);
        high = std::max(high, scores[i]);
      }
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (ignored_[nodes[i].index()]) {
        scores[i] = 0;
      } else {
        scores[i] = high == 0 ? kMaxNodeScore : kMaxNodeScore * (high + low - scores[i]) / high;
      }
    }
  }

 private:
  bool is_scored(const model::Node& node) const {
    return lacking_ == Lacking::Counted || has_all_keys(node, soft_);
  }

  void update(const PodInfo& other, NodeId id, std::int64_t delta) {
    const NodeInfo& info = state_->node(id);
    if (!info.node || other.ns() != pod_->ns() || !has_all_keys(*info.node, hard_)) {
      return;
    }
    for (std::size_t i = 0; i < hard_.size(); ++i) {
      if (hard_[i].counts(other) && included(hard_[i], *pod_, *info.node)) {
        domains_[i].add(info.labels().at(hard_[i].topology_key), delta);
      }
    }
  }

  /// Matching pods of every domain that has a feasible node.
  void count_domains() {
    for (const NodeId id : state_->nodes()) {
      const NodeInfo& info = state_->node(id);
      if (!is_scored(*info.node)) {
        continue;
      }
      for (std::size_t i = 0; i < soft_.size(); ++i) {
        const auto domain = counts_[i].find(value_of(*info.node, soft_[i].topology_key));
        if (domain != counts_[i].end() && included(soft_[i], *pod_, *info.node)) {
          domain->second += count_on(*state_, info, soft_[i], *pod_);
        }
      }
    }
  }

  PodPtr pod_;
  const ClusterState* state_;
  Lacking lacking_;
  std::vector<Constraint> hard_;
  std::vector<Constraint> soft_;
  std::vector<Domains> domains_;                            // by hard constraint
  std::vector<std::map<std::string, std::int64_t>> counts_; // by soft constraint
  std::vector<double> weights_;                             // by soft constraint
  std::vector<bool> ignored_;                               // by node
};

class PodTopologySpread final : public Plugin {
 public:
  explicit PodTopologySpread(PodTopologySpreadArgs args) : args_(std::move(args)) {}

  std::string_view name() const override { return kPodTopologySpread; }
  Points points() const override { return Point::Filter | Point::Score; }

  std::vector<EventInterest> events() const override {
    return {
        {.resource = EventResource::AssignedPod,
         .action = actions::kAdd | actions::kDelete | actions::kPodLabel},
        {.resource = EventResource::UnscheduledPod,
         .action = actions::kPodLabel | actions::kPodToleration},
        {.resource = EventResource::Node,
         .action = actions::kAdd | actions::kDelete | actions::kNodeLabel | actions::kNodeTaint}};
  }

  Hint hint(const PodInfo& pod, const ClusterEvent& event) const override {
    if (!has_own_constraints(pod)) {
      return hint_by_defaults(pod, event);
    }
    const auto constraints =
        constraints_of(pod, pod.pod->spec.topology_spread_constraints, "DoNotSchedule");
    if (event.resource == EventResource::Node) {
      const auto has_keys = [&](const auto& node) {
        return node && has_all_keys(*node, constraints);
      };
      return has_keys(event.old_node) || has_keys(event.new_node) ? Hint::Queue : Hint::Skip;
    }
    if (event.resource == EventResource::UnscheduledPod) {
      return event.new_pod && event.new_pod->uid == pod.uid ? Hint::Queue : Hint::Skip;
    }
    const auto counted = [&](const PodPtr& other) {
      return other && other->ns() == pod.ns() &&
             std::ranges::any_of(constraints, [&](const Constraint& c) {
               return c.selector && c.selector->matches(other->pod->meta.labels);
             });
    };
    return counted(event.old_pod) || counted(event.new_pod) ? Hint::Queue : Hint::Skip;
  }

  /// Default constraints depend on the labels and the owner of a pod.
  bool looks_beyond_shape() const override { return !args_.default_constraints.empty(); }
  bool shape_tells(const PodPtr& pod, const ClusterState& state) const override {
    return has_own_constraints(*pod) || constraints_for(*pod, state, args_).empty();
  }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    const auto constraints = constraints_for(*pod, state, args_);
    if (constraints.empty()) {
      return {.status = Status::skip(), .run = nullptr, .nodes = {}};
    }
    const bool by_system =
        !has_own_constraints(*pod) && args_.defaulting == PodTopologySpreadArgs::Defaulting::System;
    auto run = std::make_unique<SpreadRun>(pod, state, constraints,
                                           by_system ? SpreadRun::Lacking::Counted
                                                     : SpreadRun::Lacking::Ignored);
    Prepared prepared;
    prepared.status = run->has_no_filter() ? Status::skip() : Status::success();
    prepared.run = std::move(run);
    return prepared;
  }

 private:
  /// Whom the defaults count is not known without the state: any pod of the namespace may be.
  static Hint hint_by_defaults(const PodInfo& pod, const ClusterEvent& event) {
    if (event.resource == EventResource::Node) {
      return Hint::Queue;
    }
    const auto matters = [&](const PodPtr& other) {
      return other && (event.resource == EventResource::UnscheduledPod ? other->uid == pod.uid
                                                                       : other->ns() == pod.ns());
    };
    return matters(event.old_pod) || matters(event.new_pod) ? Hint::Queue : Hint::Skip;
  }

  PodTopologySpreadArgs args_;
};

} // namespace

std::unique_ptr<Plugin> make_pod_topology_spread(PodTopologySpreadArgs args) {
  return std::make_unique<PodTopologySpread>(std::move(args));
}

} // namespace berth::sched
