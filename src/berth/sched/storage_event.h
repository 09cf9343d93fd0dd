// Changes of storage objects as events: what a claim, volume, class or other storage object was
// before and is after.
#pragma once

#include "berth/sched/event.h"
#include "berth/sched/storage_state.h"

namespace berth::sched {

/// One pair is set, that of the event's resource; `old` is null for an object first seen, `now` for
/// one that is gone.
struct StorageChange {
  template <class P> struct Pair {
    P old = nullptr;
    P now = nullptr;
  };
  Pair<ClaimPtr> claim;
  Pair<VolumePtr> volume;
  Pair<StorageClassPtr> storage_class;
  Pair<CsiNodePtr> csi_node;
  Pair<CsiDriverPtr> csi_driver;
  Pair<CapacityPtr> capacity;
  Pair<AttachmentPtr> attachment;
};

/// kAdd, kUpdate or kDelete, by which of the two is null. Precondition: not both.
ClusterEvent storage_changed(ClaimPtr old, ClaimPtr now);
ClusterEvent storage_changed(VolumePtr old, VolumePtr now);
ClusterEvent storage_changed(StorageClassPtr old, StorageClassPtr now);
ClusterEvent storage_changed(CsiNodePtr old, CsiNodePtr now);
ClusterEvent storage_changed(CsiDriverPtr old, CsiDriverPtr now);
ClusterEvent storage_changed(CapacityPtr old, CapacityPtr now);
ClusterEvent storage_changed(AttachmentPtr old, AttachmentPtr now);

} // namespace berth::sched
