// What informers say, told to the deciding wing: state first, then the queue.
#include <algorithm>

#include "berth/base/log.h"
#include "berth/model/node.h"
#include "berth/model/workload.h"
#include "berth/sched/plugins/capacity_scheduling.h"
#include "berth/sched/plugins/hami.h"
#include "berth/sched/plugins/load_variation_risk_balancing.h"
#include "berth/sched/plugins/low_risk_over_commitment.h"
#include "berth/sched/plugins/node_resource_topology_match.h"
#include "berth/sched/plugins/pod_topology_spread.h"
#include "berth/sched/plugins/target_load_packing.h"
#include "berth/scheduler/process.h"
#include "berth/store/addon_kinds.h"

namespace berth::scheduler {
namespace {

const client::GroupKind kBudgets{"policy", "PodDisruptionBudget"};
const client::GroupKind kServices{"", "Service"};
/// Whose selectors default spread constraints read.
const client::GroupKind kSelectingControllers[] = {
    {"", "ReplicationController"}, {"apps", "ReplicaSet"}, {"apps", "StatefulSet"}};

} // namespace

Scheduler::Process::Process(client::Client& client, Loop& loop, Rng rng, SchedulerOptions options,
                            std::vector<sched::Framework> frameworks,
                            std::shared_ptr<gang::Groups> groups)
    : client_(client), loop_(loop), rng_(std::move(rng)), groups_(std::move(groups)),
      state_(std::move(options.catalogue)), desks_(desks(*this, std::move(frameworks))),
      queue_(queue_policy(), options.queue), timer_(loop), extenders_(std::move(options.extenders)),
      poster_(std::move(options.poster)), book_(std::move(options.explain)),
      metrics_(this->frameworks()) {}

std::vector<std::unique_ptr<Scheduler::Process::Desk>>
Scheduler::Process::desks(Process& process, std::vector<sched::Framework> frameworks) {
  std::vector<std::unique_ptr<Desk>> out;
  for (sched::Framework& framework : frameworks) {
    out.push_back(std::make_unique<Desk>(process, std::move(framework)));
  }
  return out;
}

Scheduler::Process::Desk* Scheduler::Process::find_desk(std::string_view scheduler_name) const {
  const auto it = std::ranges::find_if(
      desks_, [&](const auto& desk) { return desk->framework.is_for(scheduler_name); });
  return it == desks_.end() ? nullptr : it->get();
}

Scheduler::Process::Desk& Scheduler::Process::desk_of(const sched::PodInfo& pod) const {
  Desk* desk = find_desk(pod.pod->spec.scheduler_name);
  return desk != nullptr ? *desk : *desks_.front();
}

std::vector<const sched::Framework*> Scheduler::Process::frameworks() const {
  std::vector<const sched::Framework*> frameworks;
  for (const auto& desk : desks_) {
    frameworks.push_back(&desk->framework);
  }
  return frameworks;
}

sched::QueuePolicy Scheduler::Process::queue_policy() {
  sched::QueuePolicy policy = sched::queue_policy(frameworks());
  policy.room = [this](sched::NodeId node) { return sched::room_on(state_, node); };
  return policy;
}

/// Where the pod is placed, bound or not.
std::optional<sched::NodeId> Scheduler::Process::node_of(std::string_view uid) const {
  const sched::PlacedPod* placed = state_.find_pod(uid);
  return placed == nullptr ? std::nullopt : std::optional(placed->node);
}

void Scheduler::Process::watch() {
  const auto add = [this](const client::GroupKind& kind,
                          void (Process::*handler)(const api::Object&, const api::Object&)) {
    informers_.push_back(std::make_unique<client::Informer>(
        client_, loop_, client::ListOptions{.kind = kind, .ns = "", .labels = {}, .node = {}},
        [this, handler](const api::Object& old, const api::Object& now) {
          (this->*handler)(old, now);
        }));
    informers_.back()->on_sync([self = weak_from_this()] {
      if (const auto process = self.lock()) {
        process->wake();
      }
    });
  };
  add(client::kNamespaces, &Process::on_namespace);
  add(kBudgets, &Process::on_budget);
  add(client::kNodes, &Process::on_node);
  nodes_ = informers_.back().get();
  add(client::kStorageClasses, &Process::on_storage_class);
  add(client::kVolumes, &Process::on_volume);
  add(client::kVolumeClaims, &Process::on_claim);
  add(client::kCsiNodes, &Process::on_csi_node);
  add(client::kCsiDrivers, &Process::on_csi_driver);
  add(client::kStorageCapacities, &Process::on_capacity);
  add(client::kVolumeAttachments, &Process::on_attachment);
  add(client::kPodGroups, &Process::on_group);
  if (has_plugin({sched::kPodTopologySpread})) {
    add(kServices, &Process::on_service);
    for (const client::GroupKind& kind : kSelectingControllers) {
      add(kind, &Process::on_controller);
    }
  }
  if (has_plugin({sched::kCapacityScheduling})) {
    add(store::kElasticQuotas, &Process::on_quota);
  }
  if (has_plugin({sched::kHami})) {
    add(store::kResourceQuotas, &Process::on_resource_quota);
  }
  if (has_plugin({sched::kNodeResourceTopologyMatch})) {
    add(store::kNodeResourceTopologies, &Process::on_numa_report);
  }
  if (has_plugin({sched::kTargetLoadPacking, sched::kLoadVariationRiskBalancing,
                  sched::kLowRiskOverCommitment})) {
    add(store::kNodeMetrics, &Process::on_node_metrics);
  }
  add(client::kPods, &Process::on_pod);
}

void Scheduler::Process::stop() {
  stopped_ = true;
  timer_.cancel();
  nodes_ = nullptr;
  informers_.clear();
  awaiting_claims_.clear();
}

bool Scheduler::Process::ours(std::string_view scheduler_name) const {
  return find_desk(scheduler_name) != nullptr;
}

sched::PodPtr Scheduler::Process::describe(const api::Object& object) {
  auto pod = model::pod_view(object);
  if (!pod) {
    log(LogLevel::Warn, "scheduler", to_string(pod.error()));
    return nullptr;
  }
  return state_.describe(*std::move(pod));
}

void Scheduler::Process::tell_queue(const sched::ClusterEvent& event, std::string_view except) {
  if (event.action == 0) {
    return;
  }
  queue_.on_event(event, loop_.now(), except);
  wake();
}

void Scheduler::Process::on_pod(const api::Object& old, const api::Object& now) {
  const api::Object& object = now ? now : old;
  const auto seen = pods_.find(object.meta().uid);
  const sched::PodPtr before = seen == pods_.end() ? nullptr : seen->second.pod;
  if (!now) {
    if (before) {
      pods_.erase(seen);
      pod_gone(before);
    }
    return;
  }
  const sched::PodPtr pod = describe(now);
  if (!pod) {
    return;
  }
  pods_.insert_or_assign(pod->uid, Seen{.object = now, .pod = pod});
  const std::int64_t members_before = groups_->member_count(gang::group_of(*pod));
  groups_->set_pod(pod);
  if (pod->pod->spec.node_name.empty()) {
    pending_pod(before, pod);
  } else {
    assigned_pod(before, pod);
  }
  if (groups_->member_count(gang::group_of(*pod)) != members_before) {
    tell_queue(sched::pod_group_changed(), pod->uid);
  }
}

void Scheduler::Process::assigned_pod(const sched::PodPtr& before, const sched::PodPtr& now) {
  const bool was_here = before && !before->pod->spec.node_name.empty() && !before->pod->terminal();
  queue_.remove(now->uid);
  const auto node = node_of(now->uid);
  state_.set_pod(now);
  if (now->pod->terminal()) {
    if (was_here && node) {
      tell_queue(sched::assigned_pod_deleted(now, *node, state_));
    }
    return;
  }
  tell_queue(was_here ? sched::assigned_pod_updated(before, now) : sched::assigned_pod_added(now));
}

void Scheduler::Process::pending_pod(const sched::PodPtr& before, const sched::PodPtr& now) {
  const model::Pod& pod = *now->pod;
  if (!ours(pod.spec.scheduler_name)) {
    return;
  }
  if (pod.terminal() || pod.meta.deletion_timestamp) {
    pod_gone(now);
    return;
  }
  if (state_.find_pod(now->uid) != nullptr) {
    return; // assumed: its binding or its wait goes on, a failure will look at the newest version
  }
  if (!before) {
    if (!pod.status.nominated_node_name.empty()) {
      state_.nominate(now, pod.status.nominated_node_name);
    }
    queue_.add(now, loop_.now());
  } else {
    queue_.update(now, loop_.now());
    const sched::ClusterEvent event = sched::unscheduled_pod_updated(before, now);
    if (event.action != 0) {
      queue_.on_event(event, loop_.now());
    }
  }
  wake();
}

/// The pod is gone or on its way out; whatever it held here is free.
void Scheduler::Process::pod_gone(const sched::PodPtr& last) {
  queue_.remove(last->uid);
  const bool grouped = !gang::group_of(*last).name.empty();
  groups_->remove_pod(*last);
  const auto node = node_of(last->uid);
  if (auto waiting = waiting_.take(last->uid)) {
    carry_out(undo_decision(desk_of(*waiting->queued.pod).framework, state_, waiting->queued.pod,
                            waiting->decision.node));
  }
  state_.remove_pod(last->uid);
  look_at_awaited_claims();
  if (node) {
    tell_queue(sched::assigned_pod_deleted(last, *node, state_));
  }
  if (grouped) {
    tell_queue(sched::pod_group_changed());
  }
}

void Scheduler::Process::on_node(const api::Object& old, const api::Object& now) {
  const auto view = [](const api::Object& object) {
    return object ? model::node_view(object).value_or(nullptr) : nullptr;
  };
  const auto before = view(old);
  const auto after = view(now);
  if (!after) {
    state_.remove_node((now ? now : old).meta().name);
    if (before) {
      tell_queue(sched::node_deleted(before));
    }
    return;
  }
  state_.set_node(after);
  tell_queue(before ? sched::node_updated(before, after) : sched::node_added(after));
}

void Scheduler::Process::on_group(const api::Object& old, const api::Object& now) {
  if (!now) {
    groups_->remove_group(old.key());
  } else if (auto group = model::pod_group_view(now)) {
    const model::PodGroup* known = groups_->find(now.key());
    const bool same = known != nullptr && known->min_member == (*group)->min_member;
    groups_->set_group(*std::move(group));
    if (same) {
      return; // status writes help nobody
    }
  }
  tell_queue(sched::pod_group_changed());
}

void Scheduler::Process::on_budget(const api::Object& old, const api::Object& now) {
  if (!now) {
    state_.remove_budget(old.key());
  } else if (auto budget = sched::disruption_budget_view(now)) {
    state_.set_budget(*std::move(budget));
  }
}

void Scheduler::Process::on_namespace(const api::Object& old, const api::Object& now) {
  if (now) {
    state_.set_namespace(now.meta().name, now.meta().labels);
  } else {
    state_.remove_namespace(old.meta().name);
  }
}

} // namespace berth::scheduler
