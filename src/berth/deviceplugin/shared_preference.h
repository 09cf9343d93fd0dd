// GetPreferredAllocation where several devices lie on one GPU: replicas, and MIG devices.
#pragma once

#include <string>
#include <vector>

#include "berth/deviceplugin/contract.h"
#include "berth/deviceplugin/resource_plan.h"

namespace berth::deviceplugin {

/// `allocation_size` of `available` with `must_include`, taken one by one from the GPU that the
/// policy puts first: Distributed the one with the fewest devices taken, Packed with the most,
/// Spread the one of which the request has the fewest. Then, for Distributed and Packed, the one of
/// which the request has the fewest; for Spread the one with the fewest taken; then the lowest
/// index. What is not available counts as taken. Error Invalid: an unknown id, or too few. O(size x
/// GPUs + devices).
Result<std::vector<std::string>> preferred_shared(const PlannedResource& resource,
                                                  AllocationPolicy policy,
                                                  const PreferredAllocationRequest& request);

} // namespace berth::deviceplugin
