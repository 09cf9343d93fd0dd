#include "berth/sched/storage_event.h"

namespace berth::sched {
namespace {

struct Labels {
  std::string_view added;
  std::string_view updated;
  std::string_view deleted;
};

template <class P>
ClusterEvent make_event(EventResource resource, const Labels& labels, P old, P now,
                        StorageChange::Pair<P> StorageChange::*member) {
  ClusterEvent event;
  event.resource = resource;
  event.action = !old ? actions::kAdd : !now ? actions::kDelete : actions::kUpdate;
  event.label = !old ? labels.added : !now ? labels.deleted : labels.updated;
  auto change = std::make_shared<StorageChange>();
  (*change).*member = {std::move(old), std::move(now)};
  event.storage = std::move(change);
  return event;
}

} // namespace

ClusterEvent storage_changed(ClaimPtr old, ClaimPtr now) {
  return make_event(
      EventResource::PersistentVolumeClaim,
      {"PersistentVolumeClaimAdd", "PersistentVolumeClaimUpdate", "PersistentVolumeClaimDelete"},
      std::move(old), std::move(now), &StorageChange::claim);
}

ClusterEvent storage_changed(VolumePtr old, VolumePtr now) {
  return make_event(EventResource::PersistentVolume,
                    {"PersistentVolumeAdd", "PersistentVolumeUpdate", "PersistentVolumeDelete"},
                    std::move(old), std::move(now), &StorageChange::volume);
}

ClusterEvent storage_changed(StorageClassPtr old, StorageClassPtr now) {
  return make_event(EventResource::StorageClass,
                    {"StorageClassAdd", "StorageClassUpdate", "StorageClassDelete"}, std::move(old),
                    std::move(now), &StorageChange::storage_class);
}

ClusterEvent storage_changed(CsiNodePtr old, CsiNodePtr now) {
  return make_event(EventResource::CsiNode, {"CSINodeAdd", "CSINodeUpdate", "CSINodeDelete"},
                    std::move(old), std::move(now), &StorageChange::csi_node);
}

ClusterEvent storage_changed(CsiDriverPtr old, CsiDriverPtr now) {
  return make_event(EventResource::CsiDriver,
                    {"CSIDriverAdd", "CSIDriverUpdate", "CSIDriverDelete"}, std::move(old),
                    std::move(now), &StorageChange::csi_driver);
}

ClusterEvent storage_changed(CapacityPtr old, CapacityPtr now) {
  return make_event(
      EventResource::CsiStorageCapacity,
      {"CSIStorageCapacityAdd", "CSIStorageCapacityUpdate", "CSIStorageCapacityDelete"},
      std::move(old), std::move(now), &StorageChange::capacity);
}

ClusterEvent storage_changed(AttachmentPtr old, AttachmentPtr now) {
  return make_event(EventResource::VolumeAttachment,
                    {"VolumeAttachmentAdd", "VolumeAttachmentUpdate", "VolumeAttachmentDelete"},
                    std::move(old), std::move(now), &StorageChange::attachment);
}

} // namespace berth::sched
