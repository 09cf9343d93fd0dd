// The GPUs that an agent or a device plugin serves: the driver's, or a simulated machine's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "berth/hardware/platform.h"
#include "berth/inventory/inventory.h"

namespace berth::net {
class AsioLoop;
}

namespace berth::cli {

/// `platform` nullptr: through NVML; a machine without a driver has none, which `say` is told.
/// Error: there is a driver, and it does not start. The loop must outlive the inventory.
Result<std::shared_ptr<inventory::Inventory>>
machine_gpus(net::AsioLoop& loop, const hardware::Platform* platform, const std::string& node,
             const std::function<void(const std::string&)>& say);

} // namespace berth::cli
