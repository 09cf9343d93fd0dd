#include "berth/sched/plugins/capacity_scheduling.h"

#include <fmt/format.h>

#include "berth/sched/preemption_search.h"

namespace berth::sched {
namespace {

/// What must still find room in the quotas: the pod, and pods that were promised theirs.
struct Asked {
  Resources in_namespace;
  Resources overall;
};

Asked asked_with(const PodInfo& pod, const ClusterState& state) {
  Asked asked;
  add_requests(asked.in_namespace, pod);
  add_requests(asked.overall, pod);
  for (const NodeId node : state.nodes_with_nominations()) {
    for (const PodPtr& other : state.nominated_to(node)) {
      const NamespaceQuota* quota = state.quotas().find(other->ns());
      if (other->uid == pod.uid || quota == nullptr) {
        continue;
      }
      if (other->ns() != pod.ns()) {
        if (!quota->over_min()) {
          add_requests(asked.overall, *other);
        }
      } else if (other->priority >= pod.priority) {
        add_requests(asked.in_namespace, *other);
        add_requests(asked.overall, *other);
      }
    }
  }
  return asked;
}

class QuotaVictims final : public VictimRule {
 public:
  QuotaVictims(const PodInfo& preemptor, const ClusterState& state)
      : preemptor_(&preemptor), state_(&state), quota_(state.quotas().find(preemptor.ns())) {
    if (quota_ != nullptr) {
      asked_ = asked_with(preemptor, state);
      beyond_min_ = quota_->over_min_with(asked_.in_namespace);
    }
  }

  bool may_evict(const PodInfo& pod) const override {
    const NamespaceQuota* theirs = state_->quotas().find(pod.ns());
    if ((quota_ == nullptr) != (theirs == nullptr)) {
      return false;
    }
    if (quota_ == nullptr) {
      return pod.priority < preemptor_->priority;
    }
    const bool same = pod.ns() == preemptor_->ns();
    return beyond_min_ ? same && pod.priority < preemptor_->priority : !same && theirs->over_min();
  }

  /// A pod of the own namespace that leaves is waited for even if the guarantee would allow more.
  bool awaits(const PodInfo& pod) const override {
    if (!pod.pod->meta.deletion_timestamp) {
      return false;
    }
    const bool own = quota_ != nullptr && pod.ns() == preemptor_->ns();
    return own ? pod.priority < preemptor_->priority : may_evict(pod);
  }

  std::string_view objection() const override {
    if (quota_ == nullptr) {
      return {};
    }
    return quota_->over_max_with(asked_.in_namespace)             ? kReasonMaxExceeded
           : state_->quotas().total_over_min_with(asked_.overall) ? kReasonMinExceeded
                                                                  : std::string_view();
  }

 private:
  const PodInfo* preemptor_;
  const ClusterState* state_;
  const NamespaceQuota* quota_; ///< null: the preemptor's namespace has none
  Asked asked_;
  bool beyond_min_ = false;
};

Status rejected(std::string reason) {
  return Status::of(StatusCode::Unschedulable, std::move(reason));
}

class CapacityScheduling final : public Plugin {
 public:
  std::string_view name() const override { return kCapacityScheduling; }
  Points points() const override {
    return Point::Filter | Point::PostFilter | static_cast<Points>(Point::Reserve);
  }

  std::vector<EventInterest> events() const override {
    return {{.resource = EventResource::AssignedPod,
             .action = actions::kDelete | actions::kPodScaleDown},
            {.resource = EventResource::UnscheduledPod, .action = actions::kPodScaleDown},
            {.resource = EventResource::ElasticQuota, .action = actions::kAll}};
  }

  Hint hint(const PodInfo& pod, const ClusterEvent& event) const override {
    if (event.resource == EventResource::UnscheduledPod) {
      return event.new_pod && event.new_pod->uid == pod.uid ? Hint::Queue : Hint::Skip;
    }
    return Hint::Queue;
  }

  bool looks_beyond_shape() const override { return true; }

  Prepared prepare(const PodPtr& pod, const ClusterState& state) const override {
    const NamespaceQuota* quota = state.quotas().find(pod->ns());
    if (quota == nullptr) {
      return {};
    }
    const Asked asked = asked_with(*pod, state);
    if (quota->over_max_with(asked.in_namespace)) {
      return {.status = rejected(fmt::format("Pod {}/{} is rejected in PreFilter because "
                                             "ElasticQuota {} is more than Max",
                                             pod->ns(), pod->name(), pod->ns())),
              .run = nullptr,
              .nodes = {}};
    }
    if (state.quotas().total_over_min_with(asked.overall)) {
      return {.status = rejected(fmt::format("Pod {}/{} is rejected in PreFilter because total "
                                             "ElasticQuota used is more than min",
                                             pod->ns(), pod->name())),
              .run = nullptr,
              .nodes = {}};
    }
    return {};
  }

  /// Every node is a candidate, in node order.
  PostFilterResult post_filter(FilterSession& session) const override {
    const QuotaVictims rule(*session.pod(), session.state());
    return preempt(session, rule,
                   [](std::size_t nodes) { return SearchBreadth{.first = 0, .enough = nodes}; });
  }
};

} // namespace

std::unique_ptr<Plugin> make_capacity_scheduling() {
  return std::make_unique<CapacityScheduling>();
}

} // namespace berth::sched
