// This machine as a node of a cluster: its container runtime, its GPUs, the agent and, unless
// another one serves them, the device plugin; their files below one directory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "berth/client/client.h"
#include "berth/client/token_source.h"
#include "berth/deviceplugin/config/config.h"
#include "berth/model/node.h"
#include "berth/node/agent.h"
#include "berth/node/agent_counts.h"
#include "berth/node/contents/pod_dns.h"
#include "berth/node/machine_facts.h"
#include "berth/runtime/cri/cri_runtime.h"
#include "berth/topology/settings.h"

namespace berth::net {
class AsioLoop;
}

namespace berth::node {

/// As NVIDIA's plugin by default, and CDI names beside the environment.
deviceplugin::Config real_plugin_config();

struct RealMachineOptions {
  std::string name;             ///< of the Node; "": the host's name
  std::string address;          ///< InternalIP; "": the first that is not loopback
  runtime::cri::CriOptions cri; ///< its owner is set to the node's name
  std::string root = "/var/lib/kubelet";
  std::string pod_logs = "/var/log/pods";
  std::string cdi_directory = "/var/run/cdi"; ///< where the device plugin writes
  /// Who gives the GPUs: the plugin of this process, or whoever registers.
  enum class Plugin { Own, External } plugin = Plugin::Own;
  deviceplugin::Config plugin_config = real_plugin_config();
  std::optional<HamiSettings> hami; ///< see AgentOptions
  std::string sysfs = "/sys";       ///< where Linux tells of CPUs and NUMA nodes
  topology::Settings numa;          ///< topology, CPU and memory manager policies; by default none
  SystemReserve reserve;
  DnsSettings dns;
  std::vector<std::string> unsafe_sysctls; ///< patterns, "net.core.*"
  int max_pods = 110;
  Duration device_wait = Duration::minutes(5); ///< see AgentOptions
  Patience patience = Patience::Wait;          ///< likewise
  api::Labels labels;
  std::vector<model::Taint> taints;
  StartupTaint startup_taint = StartupTaint::UntilGpus; ///< see AgentOptions
  /// The GPUs; nullptr: none.
  std::shared_ptr<inventory::Inventory> gpus;
  /// Begins to serve logs and exec of the runtime's containers, and says on which port, which the
  /// Node then tells. None: an API server in this process asks the runtime itself.
  std::function<Result<std::uint16_t>(runtime::Runtime& runtime)> serve_pods;
  client::TokenSource* tokens = nullptr; ///< may be null: pods get no service account tokens
};

/// Runs from start() to destruction. Destroying it is a crash as far as the cluster is concerned:
/// containers go on, and the next life finds them. Loop and client must outlive it.
class RealMachine {
 public:
  RealMachine(net::AsioLoop& loop, client::Client& client, RealMachineOptions options);
  ~RealMachine();
  RealMachine(const RealMachine&) = delete;
  RealMachine& operator=(const RealMachine&) = delete;

  /// Waits for the container runtime, then becomes a node. `on_step` gets a line for people each
  /// time something changes: what is waited for, that the node is there. Error: the machine does
  /// not say what it is, the policies contradict each other or it, or the directory cannot be
  /// made.
  Result<void> start(std::function<void(const std::string&)> on_step);

  const std::string& name() const;
  /// nullptr until the container runtime has answered.
  const Agent* agent() const;
  runtime::cri::CriRuntime& runtime();
  /// What the agent counts, in Prometheus' text format; "" until there is one.
  std::string metrics() const;
  /// How often who has which devices was asked for.
  PodResourcesCounts pod_resources_asked() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::node
