#include "berth/sched/plugins/node_affinity.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "berth/api/strict.h"
#include "berth/sched/scoring.h"

namespace berth::sched {
namespace {

enum Detail : std::uint64_t { kPodAffinity, kEnforced };

bool matches(const api::NodeSelector& selector, const model::Node& node) {
  return selector.matches(node.meta.labels, node.name());
}

bool matches(const std::optional<model::NodeAffinity>& affinity, const model::Node& node) {
  return !affinity || !affinity->required || matches(*affinity->required, node);
}

/// Names one term allows by metadata.name In; none: the term does not say.
std::optional<std::set<std::string>> names_of(const api::NodeSelectorTerm& term) {
  std::optional<std::set<std::string>> names;
  for (const api::Requirement& field : term.match_fields) {
    if (field.key != "metadata.name" || field.op != api::Operator::In) {
      continue;
    }
    std::set<std::string> values(field.values.begin(), field.values.end());
    if (names) {
      std::erase_if(*names, [&](const std::string& name) { return !values.contains(name); });
    } else {
      names = std::move(values);
    }
  }
  return names;
}

/// Union over the terms; none if some term allows any name.
std::optional<std::set<std::string>> names_of(const api::NodeSelector& selector) {
  std::optional<std::set<std::string>> all;
  for (const api::NodeSelectorTerm& term : selector.terms) {
    auto names = names_of(term);
    if (!names) {
      return std::nullopt;
    }
    if (!all) {
      all.emplace();
    }
    all->merge(*names);
  }
  return all;
}

class AffinityRun final : public Run {
 public:
  AffinityRun(PodPtr pod, const ClusterState& state, const NodeAffinityArgs& args)
      : pod_(std::move(pod)), state_(&state), added_(args.added_affinity) {
    const auto collect = [&](const std::optional<model::NodeAffinity>& affinity) {
      if (affinity) {
        std::ranges::copy_if(
            affinity->preferred, std::back_inserter(preferred_),
            [](const model::PreferredSchedulingTerm& term) { return term.weight != 0; });
      }
    };
    collect(added_);
    collect(pod_->pod->spec.node_affinity);
  }

  Reach reach() const override { return Reach::Node; }
  Grading grading() const override {
    return preferred_.empty() ? Grading::None : Grading::Relative;
  }
  std::uint64_t grade(NodeId node) override { return static_cast<std::uint64_t>(score(node)); }

  Verdict filter(NodeId id) const override {
    const model::Node& node = *state_->node(id).node;
    if (!matches(added_, node)) {
      return Verdict::unresolvable(kEnforced);
    }
    return matches_required_affinity(pod_->pod->spec, node) ? Verdict::feasible()
                                                            : Verdict::unresolvable(kPodAffinity);
  }

  std::vector<std::string> reasons(NodeId, Verdict verdict) const override {
    return {std::string(verdict.detail == kEnforced ? kReasonEnforced : kReasonAffinity)};
  }

  Status pre_score(std::span<const NodeId>) override {
    return preferred_.empty() ? Status::skip() : Status::success();
  }

  std::int64_t score(NodeId id) const override {
    const model::Node& node = *state_->node(id).node;
    std::int64_t sum = 0;
    for (const auto& term : preferred_) {
      sum += term.preference.matches(node.meta.labels, node.name()) ? term.weight : 0;
    }
    return sum;
  }

  void normalize(std::span<const NodeId>, std::span<std::int64_t> scores) const override {
    normalize_by_max(scores, NormalizeOrder::Forward);
  }

 private:
  PodPtr pod_;
  const ClusterState* state_;
  std::optional<model::NodeAffinity> added_;
  std::vector<model::PreferredSchedulingTerm> preferred_;
};

class NodeAffinity final : public Plugin {
 public:
  explicit NodeAffinity(NodeAffinityArgs args) : args_(std::move(args)) {}

  std::string_view name() const override { return kNodeAffinity; }
  Points points() const override { return Point::Filter | Point::Score; }

  std::vector<EventInterest> events() const override {
    return {{.resource = EventResource::Node, .action = actions::kAdd | actions::kNodeLabel}};
  }

  Hint hint(const PodInfo& pod, const ClusterEvent& event) const override {
    const auto fits = [&](const model::Node& node) {
      return matches(args_.added_affinity, node) && matches_required_affinity(pod.pod->spec, node);
    };
    const bool helps =
        event.new_node && fits(*event.new_node) && !(event.old_node && fits(*event.old_node));
    return helps ? Hint::Queue : Hint::Skip;
  }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    const model::PodSpec& spec = pod->pod->spec;
    const bool enforced = args_.added_affinity && args_.added_affinity->required;
    const bool required = spec.node_affinity && spec.node_affinity->required;
    Prepared prepared;
    prepared.run = std::make_unique<AffinityRun>(pod, state, args_);
    if (!enforced && !required && spec.node_selector.empty()) {
      prepared.status = Status::skip();
    } else if (required) {
      narrow(*spec.node_affinity->required, state, prepared);
    }
    return prepared;
  }

 private:
  /// Where every term names its nodes, only those need a look.
  static void narrow(const api::NodeSelector& required, const ClusterState& state,
                     Prepared& prepared) {
    const auto names = names_of(required);
    if (!names) {
      return;
    }
    if (names->empty()) {
      prepared.status = Status::of(StatusCode::Unresolvable, std::string(kReasonConflict));
      return;
    }
    prepared.nodes.emplace();
    for (const std::string& name : *names) {
      if (const auto id = state.find_node(name)) {
        prepared.nodes->push_back(*id);
      }
    }
    std::ranges::sort(*prepared.nodes);
  }

  NodeAffinityArgs args_;
};

} // namespace

Result<NodeAffinityArgs> parse_node_affinity_args(const boost::json::value& args) {
  std::optional<Error> failure;
  boost::json::value added;
  const api::Field in(args, failure);
  api::refuse_unknown(in, {"addedAffinity"});
  in.read("addedAffinity", added);
  if (failure) {
    return tl::unexpected(*std::move(failure));
  }
  NodeAffinityArgs parsed;
  if (added.is_null()) {
    return parsed;
  }
  // A pod's nodeAffinity has the same form: let the pod decoder read it.
  const boost::json::value pod = {
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", {{"name", "args"}}},
      {"spec", {{"affinity", {{"nodeAffinity", added}}}, {"containers", boost::json::array()}}}};
  auto decoded = model::decode_pod(pod);
  if (!decoded) {
    constexpr std::string_view kInPod = "spec.affinity.nodeAffinity";
    Error error = std::move(decoded).error();
    std::string field = error.where ? error.where->field : std::string();
    field = field.starts_with(kInPod) ? field.substr(kInPod.size()) : std::string();
    error.where = Where{.file = {}, .line = 0, .column = 0, .field = "addedAffinity" + field};
    return tl::unexpected(std::move(error));
  }
  parsed.added_affinity = (*decoded)->spec.node_affinity;
  return parsed;
}

std::unique_ptr<Plugin> make_node_affinity(NodeAffinityArgs args) {
  return std::make_unique<NodeAffinity>(std::move(args));
}

} // namespace berth::sched
