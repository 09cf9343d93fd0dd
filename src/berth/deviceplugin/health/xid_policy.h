// Which Xids make a device unhealthy: the driver's table, and what the administrator said beside
// it.
#pragma once

#include "berth/deviceplugin/config/config.h"
#include "berth/inventory/inventory.h"

namespace berth::deviceplugin {

/// What is enabled counts, what is disabled does not; of the rest those after which a GPU needs a
/// reset or a reboot.
bool counts(const HealthChecks& checks, int xid);

/// Does what a GPU answers make it unhealthy?
bool is_sick(const HealthChecks& checks, const inventory::GpuProbe& probe);

} // namespace berth::deviceplugin
