// A node agent of its own for a Kubernetes cluster: this machine's containers and GPUs.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "berth/client/kubeconfig.h"
#include "berth/hardware/platform.h"
#include "berth/node/real_machine.h"

namespace berth::cli {

struct AgentProcessOptions {
  client::ServerAccess access;
  node::RealMachineOptions machine;
  /// Whose GPUs are simulated; nullptr: the driver's, if there is one.
  std::shared_ptr<const hardware::Platform> platform;
};

/// Runs until `stop` says so (asked ten times a second). `say` gets a line for each step. Error:
/// the server's address or certificates, the directory. Containers go on when it ends.
Result<void> run_agent(const AgentProcessOptions& options, const std::function<bool()>& stop,
                       const std::function<void(const std::string&)>& say);

} // namespace berth::cli
