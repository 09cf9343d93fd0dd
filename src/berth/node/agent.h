// The node agent (kubelet's part): registers its Node and stands for its life, runs the pods bound
// to it through admission, device allocation, containers and termination, and writes what happens
// into their status.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/api/json.h"
#include "berth/base/loop.h"
#include "berth/client/client.h"
#include "berth/deviceplugin/kubelet_socket.h"
#include "berth/inventory/inventory.h"
#include "berth/model/gpu_slices.h"
#include "berth/model/node.h"
#include "berth/node/checkpoint_store.h"
#include "berth/node/device_ledger.h"
#include "berth/node/device_options.h"
#include "berth/node/discovered_labels.h"
#include "berth/node/hami_sharing.h"
#include "berth/node/pod_resources.h"
#include "berth/node/startup_taint.h"
#include "berth/runtime/runtime.h"
#include "berth/topology/numa_book.h"
#include "berth/topology/settings.h"

namespace berth::node {

class AgentCounts;
class Contents;

struct AgentOptions {
  /// The Node as a healthy agent registers it (hardware::node_document, or a user's own Node
  /// object).
  api::json::value node_document;
  api::Labels labels; ///< added to the document's
  /// Labels of the GPUs as they are, asked for when they are cut in another way; those that the
  /// Node gets in the first place are among `labels`.
  Discover discover;
  api::Labels given_labels; ///< that win over what is discovered
  std::vector<model::Taint> taints;
  /// Resources whose numbers come from a device plugin alone, whatever the document says.
  std::vector<std::string> plugin_resources{"nvidia.com/gpu"};
  /// How many replicas the plugin gives to one container, by its configuration, for schedulers to
  /// know.
  model::ReplicaLimit replica_limit = model::ReplicaLimit::ByStrategy;
  /// Whether a new Node is tainted until its GPUs can be had.
  StartupTaint startup_taint = StartupTaint::None;
  /// How long a pod is held for a plugin that is coming back, or for a dying pod's devices.
  Duration device_wait = Duration::minutes(5);
  /// Whether it is held at all.
  Patience patience = Patience::Wait;
  /// How long the first node status is held back for plugins to come back after a restart.
  Duration status_wait = Duration::seconds(10);
  /// GPUs are given as HAMi's vGPUs; none: whole, and in parts.
  std::optional<HamiSettings> hami;
  /// What is done about NUMA nodes: topology, CPU and memory manager policies; by default none.
  topology::Rules numa;
  /// Patterns of sysctls that are let in beside the safe ones; for machines with contents.
  std::vector<std::string> unsafe_sysctls;
  std::uint64_t seed = 1;
};

/// What the agent stands on; everything outlives it.
struct AgentPlace {
  Loop* loop = nullptr;
  client::Client* client = nullptr;
  runtime::Runtime* runtime = nullptr;
  deviceplugin::KubeletSocket* socket = nullptr;
  CheckpointStore* checkpoint = nullptr;
  inventory::Inventory* inventory = nullptr; ///< may be null: GPU indices are then unknown
  Contents* contents = nullptr;              ///< of a real machine; null for a simulated one
};

/// Runs from construction to destruction. Destroying it is a crash: containers go on, the lease is
/// let go, nothing is written any more. A new agent in the same place finds what runs, keeps the
/// devices with their owners and ends what was deleted meanwhile.
class Agent {
 public:
  Agent(AgentPlace place, AgentOptions options);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// No pod is between two states, no status waits to be written: only containers' ends or the API
  /// can change anything.
  bool settled() const;
  /// One line for each pod that is in motion, for people who ask why settled() is false.
  std::vector<std::string> in_motion() const;
  const DeviceLedger& devices() const;
  /// As the API last showed it; nullptr if it is not of this node.
  const api::Object* find_pod(const api::Key& key) const;
  /// Where device plugins register that come by another way than the socket.
  deviceplugin::Registration& plugin_registration();
  /// Who has which devices now, and which there are to have.
  PodResourcesReport pod_resources() const;
  /// Whose CPUs and memory are where.
  const topology::NumaBook& numa() const;
  struct ContainerOwner {
    std::string pod_uid;
    std::string container;
  };
  /// Whose container of this node has the runtime's id; none: nobody's. O(pods x log containers).
  std::optional<ContainerOwner> owner_of(std::string_view container_id) const;
  /// Of device plugins and admission, for metrics.
  const AgentCounts& counts() const;
  /// The pod is here and does over and over what it has done before (see repeats() in pod_view.h).
  bool repeats(std::string_view pod_uid) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace berth::node
