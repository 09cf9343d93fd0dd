// What an agent's GPUs do and who has them, as its API server and dashboards see it.
#pragma once

#include <vector>

#include "berth/inventory/inventory.h"
#include "berth/node/device_ledger.h"
#include "berth/server/nodes.h"

namespace berth::cli {

/// Asks every GPU. `ledger` nullptr: nobody has one. Of several who share a GPU the first by pod
/// and container is told.
std::vector<server::GpuUsage> gpu_usage(const inventory::Inventory& inventory,
                                        const node::DeviceLedger* ledger);

} // namespace berth::cli
