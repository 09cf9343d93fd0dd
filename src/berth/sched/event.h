// What happened in the cluster, in kube-scheduler's terms (spec 1.7): which resource, which aspect
// of it changed. A plugin registers for the events that can change its verdict; the queue wakes the
// pods it rejected.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "berth/model/node.h"
#include "berth/sched/node_room.h"
#include "berth/sched/pod_info.h"

namespace berth::sched {

enum class EventResource : std::uint8_t {
  AssignedPod,
  UnscheduledPod, ///< the waiting pod itself or another waiting pod; a plugin tells them apart by
                  ///< uid
  Node,
  PodGroup, ///< whatever a gang plugin watches: a group or a member of it changed
  PersistentVolumeClaim,
  PersistentVolume,
  StorageClass,
  CsiNode,
  CsiDriver,
  CsiStorageCapacity,
  VolumeAttachment,
  ElasticQuota,
  ResourceQuota,
  NodeResourceTopology,
  Wildcard, ///< everything: leftover flush, forced moves
};

/// Bits; an event has one or several.
using EventActions = std::uint32_t;
namespace actions {
inline constexpr EventActions kAdd = 1U << 0;
inline constexpr EventActions kDelete = 1U << 1;
inline constexpr EventActions kNodeAllocatable = 1U << 2;
inline constexpr EventActions kNodeLabel = 1U << 3;
inline constexpr EventActions kNodeTaint = 1U << 4; ///< unschedulable true -> false counts
inline constexpr EventActions kNodeCondition = 1U << 5;
inline constexpr EventActions kNodeAnnotation = 1U << 6;
inline constexpr EventActions kPodLabel = 1U << 7;
inline constexpr EventActions kPodScaleDown = 1U << 8;
inline constexpr EventActions kPodToleration = 1U << 9;
inline constexpr EventActions kPodGatesEliminated = 1U << 10;
inline constexpr EventActions kUpdate = 1U << 11; ///< any other relevant update
inline constexpr EventActions kAll = ~0U;
} // namespace actions

struct StorageChange; // storage_event.h

/// Holds what hints need; nothing in it changes later, so the queue may keep it.
struct ClusterEvent {
  EventResource resource = EventResource::Wildcard;
  EventActions action = actions::kAll;
  std::string_view label; ///< metric label, e.g. "AssignedPodDelete"; a literal
  PodPtr old_pod;
  PodPtr new_pod;
  std::shared_ptr<const model::Node> old_node;
  std::shared_ptr<const model::Node> new_node;
  /// Deleted pods: what is left where it was; a pod that does not fit gains nothing. None: unknown.
  std::optional<NodeRoom> room;
  /// Events of storage objects.
  std::shared_ptr<const StorageChange> storage = nullptr;
};

/// A plugin's interest: events of this resource with any of these actions.
struct EventInterest {
  EventResource resource = EventResource::Wildcard;
  EventActions action = actions::kAll;

  bool covers(const ClusterEvent& event) const {
    return event.resource == EventResource::Wildcard ||
           (event.resource == resource && (event.action & action) != 0);
  }
};

/// Could the event help a pod? Queue: yes. Room: by the room it tells of and by nothing else, so
/// that pods which share the room may be tried one after the other while some is left.
enum class Hint : std::uint8_t { Queue, Room, Skip };

// ---- events as informers see them
// ---------------------------------------------------------------------
ClusterEvent node_added(std::shared_ptr<const model::Node> node);
/// action is 0 when nothing changed that can matter: no need to tell the queue.
ClusterEvent node_updated(std::shared_ptr<const model::Node> before,
                          std::shared_ptr<const model::Node> after);
ClusterEvent node_deleted(std::shared_ptr<const model::Node> node);
ClusterEvent assigned_pod_added(PodPtr pod);
/// action is 0 when nothing relevant changed.
ClusterEvent assigned_pod_updated(PodPtr before, PodPtr after);
ClusterEvent assigned_pod_deleted(PodPtr pod);
/// The same with the room it left on `node`, so that fewer pods are woken in vain; call after the
/// state has let it go.
ClusterEvent assigned_pod_deleted(PodPtr pod, NodeId node, const ClusterState& state);
/// action is 0 when only status, resourceVersion or the like changed.
ClusterEvent unscheduled_pod_updated(PodPtr before, PodPtr after);
ClusterEvent pod_group_changed();
/// kAdd, kUpdate or kDelete of an ElasticQuota, of a ResourceQuota, of a NodeResourceTopology.
ClusterEvent quota_changed(EventActions action);
ClusterEvent resource_quota_changed(EventActions action);
ClusterEvent numa_report_changed(EventActions action);
ClusterEvent unschedulable_timeout();

} // namespace berth::sched
