// The words that stand for choices in flags, environment and file, with the plugin's own words for
// those that do not exist.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "berth/deviceplugin/config/config.h"

namespace berth::deviceplugin {

/// "none", "single", "mixed".
Result<inventory::MigStrategy> parse_mig_strategy(std::string_view text);
/// "envvar", "volume-mounts", "cdi-annotations", "cdi-cri"; at least one.
Result<DeviceListStrategies> parse_device_list_strategies(std::span<const std::string> texts);
/// "uuid", "index".
Result<DeviceIdStrategy> parse_device_id_strategy(std::string_view text);
/// "auto", "nvml", "tegra".
Result<DiscoveryStrategy> parse_discovery_strategy(std::string_view text);
/// "distributed", "packed", "spread".
Result<AllocationPolicy> parse_allocation_policy(std::string_view text);
/// As Go reads booleans: "1", "t", "T", "true", "True", "TRUE" and their opposites.
Result<bool> parse_truth(std::string_view text);

std::string_view to_string(AllocationPolicy policy);

} // namespace berth::deviceplugin
