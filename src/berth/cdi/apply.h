// Applying CDI devices to an OCI runtime spec document (config.json), as the reference library
// does: order of edits, replacement of what is there, cgroup rules, mounts sorted by depth. Pure on
// JSON values.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "berth/api/json.h"
#include "berth/base/result.h"
#include "berth/cdi/registry.h"

namespace berth::cdi {

/// What stat says of a device file on the host.
struct DeviceNumber {
  std::string type; ///< "c" or "b"
  std::int64_t major = 0;
  std::int64_t minor = 0;
};
/// Asked for nodes whose spec leaves type, major or minor out.
using StatDevice = std::function<Result<DeviceNumber>(const std::string& path)>;

/// Applies every named device in order; the edits of a spec as a whole come once, before its first
/// device's. All or nothing: on error `oci` is unchanged. Errors: `unresolvable CDI devices a, b`
/// (every one that is), a device node that cannot be completed, or, with its field, a part of the
/// document that is no list or object where edits need one.
Result<void> apply_devices(const Registry& registry, std::span<const std::string> names,
                           json::object& oci, const StatDevice& stat_device);
/// One set of edits alone.
Result<void> apply_edits(const ContainerEdits& edits, json::object& oci,
                         const StatDevice& stat_device);

/// The errors that these would have, without a document.
Result<void> check_devices(const Registry& registry, std::span<const std::string> names,
                           const StatDevice& stat_device);
Result<void> check_edits(const ContainerEdits& edits, const StatDevice& stat_device);

} // namespace berth::cdi
