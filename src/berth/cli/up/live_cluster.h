// A cluster in real time on a loop of its own, beside the API's: controllers, scheduler, the
// simulated nodes and what befalls them.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "berth/cli/up/agent_metrics.h"
#include "berth/cli/up/cross_thread_nodes.h"
#include "berth/cli/up/simulated_nodes.h"
#include "berth/client/cross_thread_client.h"
#include "berth/cluster/cluster.h"
#include "berth/cluster/fault_injector.h"
#include "berth/net/loop_thread.h"

namespace berth::cli {

/// Belongs to the API's thread. The API's loop and registry must outlive it; the registry serves
/// the kind Fault (cluster::define_faults).
class LiveCluster {
 public:
  /// `options.api` is set here.
  LiveCluster(net::AsioLoop& api_loop, store::Registry& registry, cluster::ClusterSpec spec,
              cluster::ClusterOptions options);
  ~LiveCluster();
  LiveCluster(const LiveCluster&) = delete;
  LiveCluster& operator=(const LiveCluster&) = delete;

  server::Nodes& nodes() { return *near_nodes_; }
  /// Whether the scheduler has listed everything.
  bool scheduler_synced() const { return synced_; }
  /// As Scheduler::metrics(). `done` runs as a later task of the API's loop, unless the cluster
  /// goes before.
  void scheduler_metrics(std::function<void(std::string)> done);
  /// What its agents count; `done` likewise.
  void agent_counts(std::function<void(node::AgentCounts::Families)> done);

 private:
  /// Hands what `ask` says on the cluster's loop to `done` on the API's.
  template <class Ask, class Done> void ask(Ask ask, Done done);

  net::AsioLoop& api_loop_;
  std::atomic<bool> synced_ = false;
  net::LoopThread thread_;
  client::CrossThreadClient client_;
  std::optional<cluster::Cluster> cluster_;
  std::optional<SimulatedNodes> nodes_;
  std::optional<CrossThreadNodes> near_nodes_;
  std::optional<cluster::FaultInjector> faults_;
};

} // namespace berth::cli
