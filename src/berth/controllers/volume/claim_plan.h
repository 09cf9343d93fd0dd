// What is to be done next for a claim: the rules of Kubernetes' persistent volume controller, one
// step at a time, each a function of what is known now.
#pragma once

#include <span>
#include <string>

#include "berth/model/storage.h"

namespace berth::controllers {

enum class ClaimStep {
  Nothing,     ///< it is bound, or has to wait
  SetClass,    ///< it asks for no class: give it the default one, `name`
  TakeVolume,  ///< reserve the volume `name` for it
  MarkVolume,  ///< the volume `name` is its: say so in the volume's phase
  TakeClaim,   ///< say in the claim that the volume `name` is its
  MarkClaim,   ///< the claim is bound to the volume `name`: say so in its phase and capacity
  MarkPending, ///< no volume yet: say so in its phase
  MarkLost,    ///< its volume is gone, or another claim's
  Provision,   ///< make a volume of its class
};

struct ClaimPlan {
  ClaimStep step = ClaimStep::Nothing;
  std::string name; ///< of a volume or class, as the step says

  bool operator==(const ClaimPlan&) const = default;
};

/// What a claim's next step depends on. Volumes in order of their names.
struct ClaimWorld {
  std::span<const std::shared_ptr<const model::PersistentVolume>> volumes;
  std::span<const std::shared_ptr<const model::StorageClass>> classes;
};

ClaimPlan plan_claim(const model::PersistentVolumeClaim& claim, const ClaimWorld& world);

/// The class of claims that ask for none: the newest default one, of equals the first by name; null
/// if there is none.
const model::StorageClass* default_class(const ClaimWorld& world);

/// Name of the volume that is provisioned for a claim.
std::string provisioned_name(const model::PersistentVolumeClaim& claim);

} // namespace berth::controllers
