// GetPreferredAllocation for GPUs: the same choice as the scheduler's, over ids instead of indices.
#pragma once

#include <string>
#include <vector>

#include "berth/base/result.h"
#include "berth/deviceplugin/contract.h"
#include "berth/hardware/choose.h"
#include "berth/inventory/inventory.h"

namespace berth::deviceplugin {

/// The best `allocation_size` of `available` that contain `must_include`, by index. Advice never
/// fails for the state of a GPU: dead ones are left out where possible, and where topology is
/// unknown the lowest indices are taken. Error Invalid: an unknown id, or fewer available than
/// asked.
Result<std::vector<std::string>> preferred_gpus(const inventory::Inventory& inventory,
                                                hardware::ChoicePolicy policy,
                                                const PreferredAllocationRequest& request);

} // namespace berth::deviceplugin
