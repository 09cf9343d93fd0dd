// What keeps claims and volumes from going while they are used. Source: kubernetes
// pkg/controller/volume/pvcprotection, pvprotection.
#pragma once

#include <string>
#include <vector>

#include "berth/api/object.h"

namespace berth::controllers {

/// Names "namespace/claim" of the claims that a pod holds: of one that has its node, whether it has
/// ended or not.
std::vector<std::string> claims_held_by(const api::Object& pod);

/// Deleted, held by its protection, and no longer bound to a claim.
bool protected_for_nothing(const api::Object& volume);
/// The same of a claim that no pod holds.
bool protected_for_nothing(const api::Object& claim, bool held);

} // namespace berth::controllers
