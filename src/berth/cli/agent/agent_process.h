// A node agent of its own for a Kubernetes cluster: this machine's containers and GPUs.
#pragma once

#include <functional>
#include <string>

#include "berth/cli/agent/agent_flags.h"
#include "berth/cli/listen_address.h"
#include "berth/client/kubeconfig.h"

namespace berth::cli {

struct AgentProcessOptions {
  client::ServerAccess access;
  MachineChoice choice;
  ListenAddress listen; ///< of logs and exec
};

/// Runs until `stop` says so (asked ten times a second). `say` gets a line for each step. Error:
/// the server's address or certificates, the directory. Containers go on when it ends.
Result<void> run_agent(const AgentProcessOptions& options, const std::function<bool()>& stop,
                       const std::function<void(const std::string&)>& say);

} // namespace berth::cli
