#include "berth/sched/event.h"

#include <algorithm>

#include "berth/sched/cluster_state.h"

namespace berth::sched {
namespace {

using ResourceList = model::ResourceList;

bool same_amounts(const ResourceList& a, const ResourceList& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.first == y.first && x.second == y.second;
  });
}

bool same_conditions(const model::Node& a, const model::Node& b) {
  return std::ranges::equal(a.conditions, b.conditions, [](const auto& x, const auto& y) {
    return x.type == y.type && x.status == y.status && x.reason == y.reason;
  });
}

bool same_toleration(const model::Toleration& a, const model::Toleration& b) {
  return a.key == b.key && a.op == b.op && a.value == b.value && a.effect == b.effect;
}

EventActions node_changes(const model::Node& before, const model::Node& after) {
  EventActions changes = 0;
  const auto set = [&](bool changed, EventActions bit) { changes |= changed ? bit : 0; };
  set(!same_amounts(before.allocatable, after.allocatable), actions::kNodeAllocatable);
  set(before.meta.labels != after.meta.labels, actions::kNodeLabel);
  set(before.taints != after.taints || (before.unschedulable && !after.unschedulable),
      actions::kNodeTaint);
  set(!same_conditions(before, after), actions::kNodeCondition);
  set(before.meta.annotations != after.meta.annotations, actions::kNodeAnnotation);
  return changes;
}

/// Did any request shrink? Only then can others gain.
bool scaled_down(const PodInfo& before, const PodInfo& after) {
  return std::ranges::any_of(before.requests, [&](const auto& request) {
    return after.request(request.first) < request.second;
  });
}

EventActions pod_changes(const PodInfo& before, const PodInfo& after) {
  EventActions changes = 0;
  const auto set = [&](bool changed, EventActions bit) { changes |= changed ? bit : 0; };
  set(before.pod->meta.labels != after.pod->meta.labels, actions::kPodLabel);
  set(scaled_down(before, after), actions::kPodScaleDown);
  set(!std::ranges::equal(before.pod->spec.tolerations, after.pod->spec.tolerations,
                          same_toleration),
      actions::kPodToleration);
  set(!before.pod->spec.scheduling_gates.empty() && after.pod->spec.scheduling_gates.empty(),
      actions::kPodGatesEliminated);
  return changes;
}

/// What a spec or metadata change of a waiting pod can be beside the bits above: affinity and
/// selectors of gated pods, annotations, deletion.
bool changed_otherwise(const PodInfo& before, const PodInfo& after) {
  const auto& a = *before.pod;
  const auto& b = *after.pod;
  return a.meta.annotations != b.meta.annotations ||
         a.meta.deletion_timestamp != b.meta.deletion_timestamp ||
         a.meta.owner_references != b.meta.owner_references || before.requests != after.requests ||
         before.priority != after.priority || a.spec.node_selector != b.spec.node_selector ||
         a.spec.scheduling_gates != b.spec.scheduling_gates ||
         a.spec.node_affinity.has_value() != b.spec.node_affinity.has_value() ||
         (a.spec.node_affinity && a.spec.node_affinity->required != b.spec.node_affinity->required);
}

ClusterEvent pod_event(EventResource resource, EventActions action, std::string_view label,
                       PodPtr before, PodPtr after) {
  return {.resource = resource,
          .action = action,
          .label = label,
          .old_pod = std::move(before),
          .new_pod = std::move(after),
          .old_node = nullptr,
          .new_node = nullptr,
          .room = {}};
}

ClusterEvent node_event(EventActions action, std::string_view label,
                        std::shared_ptr<const model::Node> before,
                        std::shared_ptr<const model::Node> after) {
  return {.resource = EventResource::Node,
          .action = action,
          .label = label,
          .old_pod = nullptr,
          .new_pod = nullptr,
          .old_node = std::move(before),
          .new_node = std::move(after),
          .room = {}};
}

} // namespace

ClusterEvent node_added(std::shared_ptr<const model::Node> node) {
  return node_event(actions::kAdd, "NodeAdd", nullptr, std::move(node));
}

ClusterEvent node_updated(std::shared_ptr<const model::Node> before,
                          std::shared_ptr<const model::Node> after) {
  const EventActions changes = node_changes(*before, *after);
  return node_event(changes, "NodeUpdate", std::move(before), std::move(after));
}

ClusterEvent node_deleted(std::shared_ptr<const model::Node> node) {
  return node_event(actions::kDelete, "NodeDelete", std::move(node), nullptr);
}

ClusterEvent assigned_pod_added(PodPtr pod) {
  return pod_event(EventResource::AssignedPod, actions::kAdd, "AssignedPodAdd", nullptr,
                   std::move(pod));
}

ClusterEvent assigned_pod_updated(PodPtr before, PodPtr after) {
  const EventActions changes = pod_changes(*before, *after);
  return pod_event(EventResource::AssignedPod, changes, "AssignedPodUpdate", std::move(before),
                   std::move(after));
}

ClusterEvent assigned_pod_deleted(PodPtr pod) {
  return pod_event(EventResource::AssignedPod, actions::kDelete, "AssignedPodDelete",
                   std::move(pod), nullptr);
}

ClusterEvent assigned_pod_deleted(PodPtr pod, NodeId node, const ClusterState& state) {
  ClusterEvent event = assigned_pod_deleted(std::move(pod));
  event.room = room_on(state, node);
  return event;
}

ClusterEvent unscheduled_pod_updated(PodPtr before, PodPtr after) {
  EventActions changes = pod_changes(*before, *after);
  if (changes == 0 && changed_otherwise(*before, *after)) {
    changes = actions::kUpdate;
  }
  return pod_event(EventResource::UnscheduledPod, changes, "UnscheduledPodUpdate",
                   std::move(before), std::move(after));
}

ClusterEvent pod_group_changed() {
  return pod_event(EventResource::PodGroup, actions::kUpdate, "PodGroupUpdate", nullptr, nullptr);
}

namespace {

ClusterEvent object_event(EventResource resource, EventActions action, std::string_view label) {
  ClusterEvent event;
  event.resource = resource;
  event.action = action;
  event.label = label;
  return event;
}

} // namespace

ClusterEvent quota_changed(EventActions action) {
  return object_event(EventResource::ElasticQuota, action,
                      action == actions::kAdd      ? "ElasticQuotaAdd"
                      : action == actions::kDelete ? "ElasticQuotaDelete"
                                                   : "ElasticQuotaUpdate");
}

ClusterEvent resource_quota_changed(EventActions action) {
  return object_event(EventResource::ResourceQuota, action,
                      action == actions::kAdd      ? "ResourceQuotaAdd"
                      : action == actions::kDelete ? "ResourceQuotaDelete"
                                                   : "ResourceQuotaUpdate");
}

ClusterEvent numa_report_changed(EventActions action) {
  return object_event(EventResource::NodeResourceTopology, action,
                      action == actions::kAdd      ? "NodeResourceTopologyAdd"
                      : action == actions::kDelete ? "NodeResourceTopologyDelete"
                                                   : "NodeResourceTopologyUpdate");
}

ClusterEvent unschedulable_timeout() {
  return pod_event(EventResource::Wildcard, actions::kAll, "UnschedulableTimeout", nullptr,
                   nullptr);
}

} // namespace berth::sched
