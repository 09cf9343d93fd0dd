// Who a replica's claims go with, by the set's persistentVolumeClaimRetentionPolicy: with the set,
// with a pod that is scaled away, or with nobody. Source: KEP-1847 and
// pkg/controller/statefulset/stateful_set_utils.go.
#pragma once

#include "berth/api/object.h"

namespace berth::controllers {

/// The replica that a claim belongs to.
struct ClaimHolder {
  api::Object set;
  api::Object pod; ///< empty if it is not there
  bool condemned = false;
};

/// A merge patch of exactly this version of the claim; null if its owners are right.
api::json::value claim_owners_patch(const api::Object& claim, const ClaimHolder& holder);

/// The claim goes with an earlier pod of this name: a new one has to wait until it is gone.
bool is_stale(const api::Object& claim, const ClaimHolder& holder);

/// Whether a set with this policy has claims follow anybody.
bool retains_all(const api::Object& set);

} // namespace berth::controllers
