// A node's heartbeat as a promise: two writes for a lease's whole life instead of one every ten
// seconds.
#pragma once

#include <memory>
#include <string_view>

#include "berth/base/loop.h"
#include "berth/client/client.h"
#include "berth/store/registry.h"

namespace berth::client {

/// On a Lease that somebody holds standing: read it as renewed now, whatever renewTime says.
inline constexpr std::string_view kStandingAnnotation = "berth.dev/standing";

/// Writes the Lease as held; the handle's end writes renewTime once more and takes the annotation
/// off, unless another holder has taken the Lease over.
std::unique_ptr<StandingLease> hold_standing_lease(store::Registry& registry, Loop& loop,
                                                   const LeaseSpec& lease);

} // namespace berth::client
