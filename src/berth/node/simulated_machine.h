// One simulated machine: hardware, containers and disk that last, and the two processes on it that
// can die and come back independently: the device plugin and the agent.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/json.h"
#include "berth/base/loop.h"
#include "berth/cdi/registry.h"
#include "berth/cdi/spec_store.h"
#include "berth/client/client.h"
#include "berth/deviceplugin/local_kubelet_socket.h"
#include "berth/deviceplugin/plugin_set.h"
#include "berth/hardware/platform.h"
#include "berth/inventory/simulated_inventory.h"
#include "berth/node/agent.h"
#include "berth/node/checkpoint_store.h"
#include "berth/runtime/simulated_runtime.h"
#include "berth/topology/settings.h"

namespace berth::node {

/// As NVIDIA's plugin by default, with CDI names, which the simulated runtime goes by, and device
/// nodes.
deviceplugin::Config usual_plugin_config();

struct MachineOptions {
  std::string name;
  /// The catalogue's machine; nullptr: `node_document` says what there is, GPUs (capacity
  /// nvidia.com/gpu) are counted.
  const hardware::Platform* platform = nullptr;
  /// Used as it is where given; otherwise made from the platform.
  std::optional<api::json::value> node_document;
  api::Labels labels;
  std::vector<model::Taint> taints;
  /// See AgentOptions. Its plugin is there as soon as it is, so that there is nothing to wait for.
  StartupTaint startup_taint = StartupTaint::None;
  Patience patience = Patience::Wait; ///< see AgentOptions
  Duration default_run_for = Duration::minutes(10);
  hardware::ChoicePolicy gpu_policy = hardware::ChoicePolicy::Topology;
  /// How GPUs are given: MIG, sharing, what containers are told.
  deviceplugin::Config plugin_config = usual_plugin_config();
  /// See AgentOptions. Precondition: the configuration does not share GPUs too.
  std::optional<HamiSettings> hami;
  /// The agent's topology, CPU and memory manager policies. Precondition: numa_rules() accepts
  /// them.
  topology::Settings numa;
  std::uint64_t seed = 1;
};

/// What the settings come to on the machine. Error Invalid: they contradict each other or it.
Result<topology::Rules> numa_rules(const MachineOptions& options);

/// Starts powered off. Loop and client must outlive it.
class SimulatedMachine {
 public:
  SimulatedMachine(Loop& loop, client::Client& client, MachineOptions options);
  ~SimulatedMachine();
  SimulatedMachine(const SimulatedMachine&) = delete;
  SimulatedMachine& operator=(const SimulatedMachine&) = delete;

  const std::string& name() const { return options_.name; }

  /// Boots: plugin, then agent.
  void power_on();
  /// Everything stops at once: agent, plugin, containers.
  void power_off();
  bool powered() const { return powered_; }

  /// The process dies; what it holds on disk and in the runtime stays. Starting twice is one start.
  void crash_agent();
  void start_agent();
  void crash_plugin();
  void start_plugin();
  bool agent_runs() const { return agent_ != nullptr; }
  bool plugin_runs() const { return plugins_ != nullptr; }

  inventory::SimulatedInventory& inventory() { return inventory_; }
  const inventory::SimulatedInventory& inventory() const { return inventory_; }
  runtime::SimulatedRuntime& runtime() { return runtime_; }
  const runtime::SimulatedRuntime& runtime() const { return runtime_; }
  MemoryCheckpointStore& disk() { return disk_; }
  /// nullptr while it is down.
  const Agent* agent() const { return agent_.get(); }
  /// Likewise.
  const deviceplugin::PluginSet* plugins() const { return plugins_.get(); }

  /// Every broken rule of the machine now, e.g. a GPU that two pods' running containers have. Empty
  /// is well.
  std::vector<std::string> broken_invariants() const;

 private:
  Loop* loop_;
  client::Client* client_;
  MachineOptions options_;
  topology::Rules numa_;
  inventory::SimulatedInventory inventory_;
  cdi::Registry cdi_;
  cdi::RegistryStore specs_{cdi_};
  runtime::SimulatedRuntime runtime_;
  deviceplugin::LocalKubeletSocket socket_;
  MemoryCheckpointStore disk_;
  bool powered_ = false;
  std::uint64_t starts_ = 0;
  std::unique_ptr<deviceplugin::PluginSet> plugins_;
  std::unique_ptr<Agent> agent_;
};

} // namespace berth::node
