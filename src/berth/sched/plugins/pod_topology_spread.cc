#include "berth/sched/plugins/pod_topology_spread.h"

#include <algorithm>
#include <cmath>

#include "berth/sched/domain_tally.h"
#include "berth/sched/plugins/node_affinity.h"

namespace berth::sched {
namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";
constexpr std::string_view kDoNotSchedule = "DoNotSchedule";
constexpr std::string_view kScheduleAnyway = "ScheduleAnyway";

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

constexpr std::uint64_t kNoDomain = UINT64_MAX;
/// Up to so many domains a cell names the domain; with more, what is counted there.
constexpr std::size_t kFewDomains = 32;
/// With more cells than this, keeping them costs more than looking at every node.
constexpr std::size_t kMostDomains = 1024;

/// A constraint and the pods it counts, by node and domain.
struct Rule {
  Constraint constraint;
  bool matches_self = false;
  bool by_name = true; ///< cells name the domain
  DomainTally matching;
};

enum class Kind { Hard, Soft };
/// Nodes without the label of some rule take no part, unless the constraints are the system's: then
/// they are one more domain, that no pod counts in.
enum class Lacking { Ignored, Counted };

/// The constraints of one kind. A node counts for a rule if it takes part and the rule's policies
/// include it.
class Rules {
 public:
  Rules(const PodInfo& pod, const ClusterState& state, const WrittenConstraints& written, Kind kind,
        Lacking lacking)
      : lacking_(lacking) {
    for (Constraint& constraint :
         constraints_of(pod, written, kind == Kind::Hard ? kDoNotSchedule : kScheduleAnyway)) {
      const Topology& topology = state.topology(constraint.topology_key);
      rules_.push_back(
          {.constraint = std::move(constraint),
           .by_name = kind == Kind::Soft || topology.inhabited() <= kFewDomains,
           .matching = DomainTally(topology, kind == Kind::Hard ? DomainTally::Order::Ordered
                                                                : DomainTally::Order::Unordered)});
      rules_.back().matches_self = rules_.back().constraint.matches_self(pod);
    }
  }

  void count(const PodInfo& pod, const ClusterState& state) {
    for (std::uint32_t i = 0; !rules_.empty() && i < state.node_slots(); ++i) {
      const NodeInfo& info = state.node(NodeId(i));
      update_homes(pod, info, nullptr);
      for (const PodSlot slot : info.pods) {
        add(pod, *state.placed(slot).pod, info.id, 1, nullptr);
      }
    }
  }
  /// `other` came to the node or left it. Appends nodes whose cells changed, unless null.
  void add(const PodInfo& pod, const PodInfo& other, NodeId node, std::int64_t sign,
           std::vector<NodeId>* moved) {
    if (other.ns() != pod.ns()) {
      return;
    }
    for (Rule& rule : rules_) {
      if (rule.constraint.counts(other)) {
        rule.matching.add(node, sign);
        tell_members(rule, rule.matching.home(node), moved);
      }
    }
  }
  void update_homes(const PodInfo& pod, const NodeInfo& info, std::vector<NodeId>* moved) {
    const bool complete = info.node != nullptr && takes_part(info.id);
    for (Rule& rule : rules_) {
      const bool counts = complete && included(rule.constraint, pod, *info.node);
      const DomainId before = rule.matching.home(info.id);
      const DomainId after = counts ? rule.matching.topology().domain_of(info.id) : DomainId();
      if (rule.matching.set_home(info.id, after)) {
        tell_members(rule, before, moved);
        tell_members(rule, after, moved);
      }
    }
  }

  bool empty() const { return rules_.empty(); }
  bool takes_part(NodeId node) const {
    return lacking_ == Lacking::Counted || std::ranges::all_of(rules_, [&](const Rule& rule) {
             return rule.matching.topology().domain_of(node).valid();
           });
  }
  /// Do the cells name too many domains?
  bool too_many() const {
    return std::ranges::any_of(rules_, [](const Rule& rule) {
      return rule.by_name && rule.constraint.topology_key != kHostname &&
             rule.matching.topology().inhabited() > kMostDomains;
    });
  }
  const std::vector<Rule>& list() const { return rules_; }

 private:
  /// Cells that tell what is counted change with the domain. A hostname's soft rule counts on the
  /// node alone, which changed itself.
  void tell_members(const Rule& rule, DomainId domain, std::vector<NodeId>* moved) const {
    if (moved != nullptr && !rule.by_name && domain.valid()) {
      const auto members = rule.matching.topology().members(domain);
      moved->insert(moved->end(), members.begin(), members.end());
    }
  }

  Lacking lacking_;
  std::vector<Rule> rules_;
};

enum Detail : std::uint64_t { kSkew, kMissingLabel };

class SpreadRun final : public Run {
 public:
  SpreadRun(PodPtr pod, const ClusterState& state, const WrittenConstraints& written,
            Lacking lacking)
      : pod_(std::move(pod)), state_(&state),
        hard_(*pod_, state, written, Kind::Hard, Lacking::Ignored),
        soft_(*pod_, state, written, Kind::Soft, lacking) {
    hard_.count(*pod_, state);
    soft_.count(*pod_, state);
  }

  bool has_no_filter() const { return hard_.empty(); }

  Reach reach() const override {
    return hard_.too_many() || soft_.too_many() ? Reach::Cluster : Reach::Domain;
  }
  Grading grading() const override { return soft_.empty() ? Grading::None : Grading::Relative; }

  void follow(const NodeChange& change, std::vector<NodeId>& moved) override {
    for (Rules* rules : {&hard_, &soft_}) {
      if (change.pod != nullptr) {
        rules->add(*pod_, *change.pod, change.node, change.sign, &moved);
      } else {
        rules->update_homes(*pod_, state_->node(change.node), &moved);
      }
    }
  }

  void cell(NodeId node, std::vector<std::uint64_t>& key) const override {
    for (const Rule& rule : hard_.list()) {
      const DomainId domain = rule.matching.topology().domain_of(node);
      key.push_back(!domain.valid() ? kNoDomain
                    : rule.by_name  ? domain.index()
                                    : static_cast<std::uint64_t>(rule.matching.at(domain)));
    }
    const bool scored = soft_.takes_part(node);
    for (const Rule& rule : soft_.list()) {
      key.push_back(!scored ? kNoDomain
                    : rule.constraint.topology_key == kHostname
                        ? static_cast<std::uint64_t>(rule.matching.of_node(node))
                        : rule.matching.topology().domain_of(node).index());
    }
  }

  Verdict filter(NodeId node) const override {
    for (const Rule& rule : hard_.list()) {
      const DomainId domain = rule.matching.topology().domain_of(node);
      if (!domain.valid()) {
        return Verdict::unresolvable(kMissingLabel);
      }
      const bool too_few = rule.matching.inhabited() < rule.constraint.min_domains;
      const std::int64_t least = too_few ? 0 : rule.matching.least();
      const std::int64_t self = rule.matches_self ? 1 : 0;
      if (rule.matching.at(domain) + self - least > rule.constraint.max_skew) {
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
    return pre_score_cells(feasible, std::vector<std::size_t>(feasible.size(), 1));
  }
  Status pre_score_cells(std::span<const NodeId> nodes,
                         std::span<const std::size_t> alike) override {
    if (soft_.empty()) {
      return Status::skip();
    }
    weights_.clear();
    for (const Rule& rule : soft_.list()) {
      const std::int64_t size = rule.constraint.topology_key == kHostname
                                    ? scored_nodes(nodes, alike)
                                    : scored_domains(rule, nodes);
      weights_.push_back(std::log(static_cast<double>(size + 2)));
    }
    return Status::success();
  }

  std::int64_t score(NodeId node) const override {
    if (!soft_.takes_part(node)) {
      return 0;
    }
    double sum = 0;
    for (std::size_t i = 0; i < soft_.list().size(); ++i) {
      const Rule& rule = soft_.list()[i];
      if (!rule.matching.topology().domain_of(node).valid()) {
        continue;
      }
      const std::int64_t count = rule.constraint.topology_key == kHostname
                                     ? rule.matching.of_node(node)
                                     : rule.matching.at(rule.matching.topology().domain_of(node));
      sum += static_cast<double>(count) * weights_[i] +
             static_cast<double>(rule.constraint.max_skew - 1);
    }
    return static_cast<std::int64_t>(std::round(sum));
  }

  void normalize(std::span<const NodeId> nodes, std::span<std::int64_t> scores) const override {
    std::int64_t low = INT64_MAX;
    std::int64_t high = INT64_MIN;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (soft_.takes_part(nodes[i])) {
        low = std::min(low, scores[i]);
        high = std::max(high, scores[i]);
      }
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!soft_.takes_part(nodes[i])) {
        scores[i] = 0;
      } else {
        scores[i] = high == 0 ? kMaxNodeScore : kMaxNodeScore * (high + low - scores[i]) / high;
      }
    }
  }

 private:
  void update(const PodInfo& other, NodeId node, std::int64_t sign) {
    // Cells come back with the end of the what-if.
    hard_.add(*pod_, other, node, sign, nullptr);
    soft_.add(*pod_, other, node, sign, nullptr);
  }
  std::int64_t scored_nodes(std::span<const NodeId> nodes,
                            std::span<const std::size_t> alike) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      sum += soft_.takes_part(nodes[i]) ? static_cast<std::int64_t>(alike[i]) : 0;
    }
    return sum;
  }
  std::int64_t scored_domains(const Rule& rule, std::span<const NodeId> nodes) {
    const std::size_t none = rule.matching.topology().domain_slots();
    met_.assign(none + 1, false);
    std::int64_t domains = 0;
    for (const NodeId node : nodes) {
      if (soft_.takes_part(node)) {
        const DomainId domain = rule.matching.topology().domain_of(node);
        const std::size_t at = domain.valid() ? domain.index() : none;
        domains += met_[at] ? 0 : 1;
        met_[at] = true;
      }
    }
    return domains;
  }

  PodPtr pod_;
  const ClusterState* state_;
  Rules hard_;
  Rules soft_;
  std::vector<double> weights_; // by soft rule
  std::vector<bool> met_;       // scratch
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
        constraints_of(pod, pod.pod->spec.topology_spread_constraints, kDoNotSchedule);
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

  /// Whom the default constraints count depends on the Services and the controller of a pod.
  bool sees_shades() const override { return !args_.default_constraints.empty(); }
  void shade(const PodInfo& pod, const ClusterState& state,
             std::vector<std::uint32_t>& key) const override {
    if (has_own_constraints(pod)) {
      return;
    }
    const auto written = constraints_for(pod, state, args_);
    for (const std::string_view when : {kDoNotSchedule, kScheduleAnyway}) {
      for (const Constraint& constraint : constraints_of(pod, written, when)) {
        append(pod.ns() + (constraint.matches_self(pod) ? " itself " : " others ") +
                   to_string(*constraint.selector),
               key);
      }
    }
  }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    const auto constraints = constraints_for(*pod, state, args_);
    if (constraints.empty()) {
      return {.status = Status::skip(), .run = nullptr, .nodes = {}};
    }
    const bool by_system =
        !has_own_constraints(*pod) && args_.defaulting == PodTopologySpreadArgs::Defaulting::System;
    auto run = std::make_unique<SpreadRun>(pod, state, constraints,
                                           by_system ? Lacking::Counted : Lacking::Ignored);
    Prepared prepared;
    prepared.status = run->has_no_filter() ? Status::skip() : Status::success();
    prepared.run = std::move(run);
    return prepared;
  }

 private:
  static void append(std::string_view text, std::vector<std::uint32_t>& key) {
    key.push_back(static_cast<std::uint32_t>(text.size()));
    key.insert(key.end(), text.begin(), text.end());
  }
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
