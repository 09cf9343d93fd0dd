// The GPUs of the machine that the program runs on.
#pragma once

#include <functional>
#include <memory>

#include "berth/base/result.h"
#include "berth/cli/terminal.h"
#include "berth/inventory/nvml_inventory.h"

namespace berth::cli {

/// Through the library that BERTH_NVML names, else the driver's own. Health is known by probes
/// alone unless `post` puts tasks on a loop from any thread. Errors as of NvmlInventory::open.
Result<std::unique_ptr<inventory::NvmlInventory>>
open_local_gpus(const Environment& environment, std::function<void(Task)> post = {});

/// The machine's DMI product name, as feature discovery reads it; "" if the system does not say.
std::string machine_name();

} // namespace berth::cli
