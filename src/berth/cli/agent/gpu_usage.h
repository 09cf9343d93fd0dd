// What an agent's GPUs do and who has them, as its API server and dashboards see it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/inventory/inventory.h"
#include "berth/node/agent.h"
#include "berth/server/nodes.h"

namespace berth::cli {

/// Asks every GPU. `ledger` nullptr: nobody has one. Of several who share a GPU the first by pod
/// and container is told.
std::vector<server::GpuUsage> gpu_usage(const inventory::Inventory& inventory,
                                        const node::DeviceLedger* ledger);

/// Whose container it is, by the runtime's id.
using OwnerOf =
    std::function<std::optional<node::Agent::ContainerOwner>(std::string_view container_id)>;

/// Names the processes, and of those in containers of the node's pods the pod; of nested containers
/// the outermost that is one of the node's counts. Reads two files below `procfs` for each.
void name_processes(std::vector<server::GpuUsage>& gpus, const std::string& procfs,
                    const OwnerOf& owner_of);

/// Both, of this machine; `inventory` null: it has no GPUs. `agent` may be null.
std::vector<server::GpuUsage> machine_gpu_usage(const inventory::Inventory* inventory,
                                                const node::Agent* agent);

} // namespace berth::cli
