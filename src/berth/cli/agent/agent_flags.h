// The flags that say what this machine is as a node, named as the kubelet names them.
#pragma once

#include <memory>
#include <vector>

#include "berth/cli/command.h"
#include "berth/hardware/platform.h"
#include "berth/node/real_machine.h"

namespace berth::cli {

struct MachineChoice {
  node::RealMachineOptions machine;
  /// Whose GPUs are simulated; nullptr: the driver's, if there is one.
  std::shared_ptr<const hardware::Platform> platform;
};

std::vector<Flag> machine_flags();

/// Errors name the flag.
Result<MachineChoice> machine_choice(const Values& values);

} // namespace berth::cli
