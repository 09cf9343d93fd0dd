// The OCI runtime spec (config.json) of a container, and what it says the container sees. Pure on
// JSON values.
#pragma once

#include <string>
#include <string_view>

#include "berth/api/json.h"
#include "berth/base/result.h"
#include "berth/cdi/apply.h"
#include "berth/cdi/registry.h"
#include "berth/runtime/facts.h"
#include "berth/runtime/runtime.h"

namespace berth::runtime {

/// The spec a runtime hands to runc: default process, filesystems and device rules, then
/// environment, mounts and devices of the configuration, then its CDI devices. Errors: a device
/// that cannot be found, unresolvable CDI devices.
Result<api::json::object> make_oci_spec(const ContainerConfig& config, std::string_view hostname,
                                        const cdi::Registry& registry,
                                        const cdi::StatDevice& stat_device);

/// The error that make_oci_spec() would have, if any; cheaper than making the spec.
Result<void> check_oci_spec(const ContainerConfig& config, const cdi::Registry& registry,
                            const cdi::StatDevice& stat_device);

/// Environment, device nodes (with the widest access the device cgroup grants) and bind mounts. The
/// runtime's own virtual filesystems are left out.
ContainerFacts facts_of(const api::json::object& oci_spec, const ContainerConfig& config);

/// The device numbers of a machine with NVIDIA's driver: /dev/nvidia<i> 195:<i>, nvidiactl 195:255,
/// modeset 195:254, nvidia-uvm 510:0, nvidia-uvm-tools 510:1, nvidia-caps/nvidia-cap<n> 508:<n>.
/// Error NotFound for anything else.
Result<cdi::DeviceNumber> nvidia_device_number(const std::string& path);

} // namespace berth::runtime
