// What a ResourceClaim's status may say: where it is allocated, who uses it, and how its devices
// are. Source: kubernetes/pkg/apis/resource/validation validateResourceClaimStatusUpdate.
#pragma once

#include <set>
#include <string>

#include "berth/store/validation/judged.h"

namespace berth::store {

/// The requests of a claim, and "request/alternative".
using RequestNames = std::set<std::string, std::less<>>;

/// Refuses names that are no request of the claim.
void check_request_name(const Judged& name, const RequestNames& known);

/// `before` and `now` are the whole claims.
void check_claim_status(const Judged& before, const Judged& now, const RequestNames& known);

} // namespace berth::store
