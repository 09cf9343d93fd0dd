// Who shares the GPUs of a node, and what each has of them: for simulated nodes and real ones.
#pragma once

#include <map>
#include <vector>

#include "berth/inventory/inventory.h"
#include "berth/node/device_ledger.h"
#include "berth/server/nodes.h"

namespace berth::cli {

/// By index of the GPU, in the order of the holdings: those that have a part of it, replicas, or
/// MIG devices on it. Who has it whole is not named.
std::map<int, std::vector<server::GpuSharer>>
gpu_sharers(const std::vector<node::Holding>& holdings, const inventory::Inventory& inventory);

} // namespace berth::cli
