#include "berth/sched/plugins/taint_toleration.h"

#include <algorithm>

#include <fmt/format.h>

#include "berth/sched/scoring.h"

namespace berth::sched {
namespace {

constexpr KubernetesVersion kPluralWording{.minor = 34};

using Tolerations = std::vector<model::Toleration>;

const model::Taint* first_untolerated(const model::Node& node, const Tolerations& tolerations) {
  const auto it = std::ranges::find_if(node.taints, [&](const model::Taint& taint) {
    return taint.effect != "PreferNoSchedule" && !model::tolerates(tolerations, taint);
  });
  return it == node.taints.end() ? nullptr : &*it;
}

class TaintRun final : public Run {
 public:
  TaintRun(const PodPtr& pod, const ClusterState& state, KubernetesVersion version)
      : pod_(pod), state_(&state), version_(version) {
    std::ranges::copy_if(pod->pod->spec.tolerations, std::back_inserter(soft_),
                         [](const model::Toleration& t) {
                           return t.effect.empty() || t.effect == "PreferNoSchedule";
                         });
  }

  Reach reach() const override { return Reach::Node; }
  Grading grading() const override { return Grading::Relative; }
  std::uint64_t grade(NodeId node) override { return static_cast<std::uint64_t>(score(node)); }

  Verdict filter(NodeId id) const override {
    const NodeInfo& node = state_->node(id);
    if (node.hard_taints == 0) {
      return Verdict::feasible();
    }
    const model::Taint* taint = first_untolerated(*node.node, pod_->pod->spec.tolerations);
    if (taint == nullptr) {
      return Verdict::feasible();
    }
    // The older wording names the taint, so its reason belongs to the node.
    return Verdict::unresolvable(version_ >= kPluralWording ? 0 : id.index());
  }

  std::vector<std::string> reasons(NodeId id, Verdict) const override {
    if (version_ >= kPluralWording) {
      return {std::string(kReasonTaints)};
    }
    const model::Taint* taint =
        first_untolerated(*state_->node(id).node, pod_->pod->spec.tolerations);
    return {fmt::format("{} {{{}: {}}}", kReasonTaint, taint->key, taint->value)};
  }

  std::int64_t score(NodeId id) const override {
    const NodeInfo& node = state_->node(id);
    if (node.soft_taints == 0) {
      return 0;
    }
    return std::ranges::count_if(node.node->taints, [&](const model::Taint& taint) {
      return taint.effect == "PreferNoSchedule" && !model::tolerates(soft_, taint);
    });
  }

  void normalize(std::span<const NodeId>, std::span<std::int64_t> scores) const override {
    normalize_by_max(scores, NormalizeOrder::Reverse);
  }

 private:
  PodPtr pod_;
  const ClusterState* state_;
  KubernetesVersion version_;
  Tolerations soft_;
};

class TaintToleration final : public Plugin {
 public:
  explicit TaintToleration(KubernetesVersion version) : version_(version) {}

  std::string_view name() const override { return kTaintToleration; }
  Points points() const override { return Point::Filter | Point::Score; }

  std::vector<EventInterest> events() const override {
    return {{.resource = EventResource::Node, .action = actions::kAdd | actions::kNodeTaint},
            {.resource = EventResource::UnscheduledPod, .action = actions::kPodToleration}};
  }

  Hint hint(const PodInfo& pod, const ClusterEvent& event) const override {
    if (event.resource == EventResource::UnscheduledPod) {
      return event.new_pod && event.new_pod->uid == pod.uid ? Hint::Queue : Hint::Skip;
    }
    const bool helps =
        event.new_node && first_untolerated(*event.new_node, pod.pod->spec.tolerations) == nullptr;
    return helps ? Hint::Queue : Hint::Skip;
  }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    return {.status = {}, .run = std::make_unique<TaintRun>(pod, state, version_), .nodes = {}};
  }

 private:
  KubernetesVersion version_;
};

} // namespace

std::unique_ptr<Plugin> make_taint_toleration(KubernetesVersion version) {
  return std::make_unique<TaintToleration>(version);
}

} // namespace berth::sched
