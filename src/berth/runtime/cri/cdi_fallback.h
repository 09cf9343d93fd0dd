// CDI devices for runtimes that know nothing of CDI (containerd before 1.7, or with enable_cdi
// off): the specs' edits said in CRI's own words. Pure.
#pragma once

#include <string>
#include <vector>

#include "berth/base/result.h"
#include "berth/cdi/registry.h"
#include "berth/runtime/runtime.h"

namespace berth::runtime::cri {

/// What CRI has no words for and the container goes without.
struct LeftOut {
  std::vector<std::string> what; ///< "hook createContainer /usr/bin/nvidia-cdi-hook", ...
};

/// Replaces the configuration's CDI devices by what they add: environment, device nodes, mounts,
/// supplemental groups. The edits of a spec as a whole come once, before its first device's. All or
/// nothing. Error Invalid: `unresolvable CDI devices a, b`.
Result<LeftOut> apply_cdi_devices(const cdi::Registry& registry, ContainerConfig& config);

} // namespace berth::runtime::cri
