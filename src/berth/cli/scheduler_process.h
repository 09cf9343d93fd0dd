// A scheduler of its own for a Kubernetes cluster: connected by a kubeconfig, configured by a
// KubeSchedulerConfiguration, one of several that lead.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "berth/client/kubeconfig.h"
#include "berth/client/leader_election.h"
#include "berth/scheduler/scheduler.h"

namespace berth::cli {

struct SchedulerProcessOptions {
  client::ServerAccess access;
  scheduler::SchedulerOptions scheduler;
  std::optional<client::ElectionOptions> election; ///< none: it leads at once
  std::string address = "127.0.0.1";
  std::uint16_t port = 10259; ///< of its pages; 0: any that is free
};

enum class SchedulerEnd { Stopped, LeadLost };

/// Runs until `stop` says so (asked ten times a second), or the lead is lost. `say` gets a line for
/// each step: where the pages are, who leads. Error: TLS, the port, the profiles.
Result<SchedulerEnd> run_scheduler(const SchedulerProcessOptions& options,
                                   const std::function<bool()>& stop,
                                   const std::function<void(const std::string&)>& say);

} // namespace berth::cli
