// MIG devices of a simulated GPU: where a driver would put them, and what it would say of them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "berth/base/result.h"
#include "berth/inventory/facts.h"

namespace berth::inventory {

/// The GPU cut into "1g.10gb=7" or the like, each instance with one compute instance over all of
/// it; "" cuts nothing. UUIDs follow from the GPU's and from `generation`, since a driver gives new
/// ones whenever it cuts. Errors Invalid: the GPU cannot be cut, it has no such profile, or they do
/// not fit.
Result<std::vector<MigDevice>> cut_gpu(const GpuFacts& gpu, std::string_view wishes,
                                       std::uint64_t generation);

} // namespace berth::inventory
