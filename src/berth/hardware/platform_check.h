// The invariants of a Platform beyond the types of its fields.
#pragma once

#include <string>
#include <vector>

#include "berth/hardware/platform.h"

namespace berth::hardware {

/// A broken invariant; `pointer` (RFC 6901) is the place in a platform file that states it.
struct PlatformFault {
  std::string pointer;
  std::string message;
};

/// Fills in what follows from other fields: the number of NUMA nodes, and over an NVSwitch the link
/// matrix.
void derive_platform(Platform& platform);

/// Every fault, in the order of the file's fields; empty for a sound platform. O(gpus^2 + cpus).
std::vector<PlatformFault> check_platform(const Platform& platform);

/// Number of CPUs in a Linux CPU list ("0-55,112-167"); -1 if it is not one (ranges ascending,
/// disjoint, below 2^20).
int count_cpus(std::string_view list);

} // namespace berth::hardware
