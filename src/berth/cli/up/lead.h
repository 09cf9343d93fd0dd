// Of several processes over one store one runs the controllers, the scheduler and the nodes: the
// holder of a Lease. The others wait for it to fall silent.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "berth/base/loop.h"
#include "berth/cli/up/live_cluster.h"
#include "berth/client/leader_election.h"
#include "berth/client/local_client.h"
#include "berth/store/registry.h"

namespace berth::cli {

/// Stands for the lead for as long as it lives, again after it has lost it.
class Lead {
 public:
  using MakeCluster = std::function<std::unique_ptr<LiveCluster>()>;

  /// `make` is called each time the lead is won; what it makes goes when the lead is lost.
  Lead(Loop& loop, store::Registry& registry, client::ElectionOptions options, MakeCluster make);
  ~Lead();
  Lead(const Lead&) = delete;
  Lead& operator=(const Lead&) = delete;

  /// null while another leads.
  LiveCluster* cluster() const { return cluster_.get(); }
  /// Ends the cluster and gives the lead away; `done` runs when that is written.
  void resign(Task done);

 private:
  void stand();
  void lost();

  Loop* loop_;
  client::LocalClient client_;
  client::ElectionOptions options_;
  MakeCluster make_;
  std::unique_ptr<LiveCluster> cluster_;
  std::optional<client::LeaderElection> election_;
  Timer again_;
};

} // namespace berth::cli
