// Sharing: devices advertised several times, by time slicing or MPS.
#pragma once

#include "berth/deviceplugin/resource_plan.h"

namespace berth::deviceplugin {

/// Clients that one MPS server takes: 48 from compute capability 7.5 on, 16 before.
int most_mps_clients(const inventory::GpuFacts& gpu);

/// Puts replicas "UUID::n" in place of the shared devices, under the new name where they have one.
/// Sharing that cannot be as configured leaves the resource without devices, with the problem.
void replicate(const inventory::NodeFacts& facts, const Sharing& sharing, ResourcePlan& plan);

} // namespace berth::deviceplugin
