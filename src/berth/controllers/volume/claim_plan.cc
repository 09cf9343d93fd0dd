#include "berth/controllers/volume/claim_plan.h"

#include <algorithm>

namespace berth::controllers {
namespace {

using model::PersistentVolume;
using model::PersistentVolumeClaim;
using model::StorageClass;

template <class T>
const T* named(std::span<const std::shared_ptr<const T>> all, std::string_view name) {
  const auto it = std::ranges::find_if(
      all, [&](const std::shared_ptr<const T>& each) { return each->meta.name == name; });
  return it == all.end() ? nullptr : it->get();
}

/// Is it this very claim's, by uid?
bool given_to(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  return volume.belongs_to(claim) && volume.claim->uid == claim.meta.uid;
}

/// Binding is complete: only phases are left to say.
ClaimPlan plan_bound(const PersistentVolumeClaim& claim, const ClaimWorld& world) {
  const PersistentVolume* volume = named(world.volumes, claim.volume_name);
  if (volume == nullptr || (volume->claim && !volume->belongs_to(claim))) {
    return {claim.phase == "Lost" ? ClaimStep::Nothing : ClaimStep::MarkLost, claim.volume_name};
  }
  if (!given_to(*volume, claim)) {
    return {ClaimStep::TakeVolume, claim.volume_name};
  }
  if (volume->phase != "Bound") {
    return {ClaimStep::MarkVolume, claim.volume_name};
  }
  return {claim.phase == "Bound" ? ClaimStep::Nothing : ClaimStep::MarkClaim, claim.volume_name};
}

/// The volume is the claim's choice: both sides say so, the volume first.
ClaimPlan bind_to(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  const ClaimStep step = !given_to(volume, claim)  ? ClaimStep::TakeVolume
                         : volume.phase != "Bound" ? ClaimStep::MarkVolume
                                                   : ClaimStep::TakeClaim;
  return {step, volume.meta.name};
}

ClaimPlan wait(const PersistentVolumeClaim& claim) {
  return {claim.phase == "Pending" ? ClaimStep::Nothing : ClaimStep::MarkPending, ""};
}

/// The volume that is kept for the claim, else, if any will do, the smallest free one.
const PersistentVolume* find_volume(const PersistentVolumeClaim& claim, const ClaimWorld& world,
                                    bool any) {
  const PersistentVolume* best = nullptr;
  for (const auto& volume : world.volumes) {
    if (!large_enough(*volume, claim) || volume->meta.deletion_timestamp) {
      continue;
    }
    if (volume->belongs_to(claim)) {
      return volume.get();
    }
    if (any && free_for(*volume, claim) && (best == nullptr || volume->capacity < best->capacity)) {
      best = volume.get();
    }
  }
  return best;
}

} // namespace

const StorageClass* default_class(const ClaimWorld& world) {
  const StorageClass* best = nullptr;
  for (const auto& each : world.classes) {
    if (each->is_default() &&
        (best == nullptr || each->meta.creation_timestamp > best->meta.creation_timestamp ||
         (each->meta.creation_timestamp == best->meta.creation_timestamp &&
          each->meta.name < best->meta.name))) {
      best = each.get();
    }
  }
  return best;
}

std::string provisioned_name(const PersistentVolumeClaim& claim) {
  return "pvc-" + claim.meta.uid;
}

ClaimPlan plan_claim(const PersistentVolumeClaim& claim, const ClaimWorld& world) {
  if (claim.meta.deletion_timestamp) {
    return {};
  }
  if (claim.bound()) {
    return plan_bound(claim, world);
  }
  if (!claim.volume_name.empty()) {
    const PersistentVolume* wanted = named(world.volumes, claim.volume_name);
    const bool free = wanted != nullptr && (!wanted->claim || wanted->belongs_to(claim));
    return free ? bind_to(*wanted, claim) : wait(claim);
  }
  const bool silent =
      !claim.storage_class && !claim.meta.annotations.contains(model::kBetaStorageClassAnnotation);
  if (const StorageClass* fallback = silent ? default_class(world) : nullptr) {
    return {ClaimStep::SetClass, fallback->meta.name};
  }
  const StorageClass* of = named(world.classes, claim.class_name());
  const bool waits = of != nullptr && of->waits_for_consumer();
  if (const PersistentVolume* found = find_volume(claim, world, !waits)) {
    return bind_to(*found, claim);
  }
  const bool due = !waits || claim.selected_node();
  return of != nullptr && of->provisions() && due ? ClaimPlan{ClaimStep::Provision, ""}
                                                  : wait(claim);
}

} // namespace berth::controllers
