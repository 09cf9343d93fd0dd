// A lasting cluster: store, Kubernetes API over TLS, controllers, scheduler and simulated nodes, in
// one process in real time; or in several over one etcd, of which one leads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "berth/cli/agent/agent_flags.h"
#include "berth/cli/up/home.h"
#include "berth/cluster/cluster.h"
#include "berth/etcd/etcd_store.h"
#include "berth/server/access/static_tokens.h"

namespace berth::cli {

struct UpOptions {
  Home home;
  std::string address = "127.0.0.1";
  std::uint16_t port = 6443; ///< 0: any that is free
  bool in_memory = false;    ///< nothing outlives the process
  /// Where objects are kept instead of the home; processes that name the same one serve one
  /// cluster, and all but the leader of them the API alone.
  std::optional<etcd::EtcdOptions> etcd;
  bool api_alone = false;      ///< no controllers, scheduler and nodes
  server::StaticTokens tokens; ///< who may come with which bearer token
  std::string audit_log;       ///< file; "" for none
  cluster::ClusterSpec spec;
  cluster::ClusterOptions cluster;
  /// This machine as a node, beside the simulated ones.
  std::optional<MachineChoice> machine;
};

/// What is said once the API answers.
struct UpReady {
  std::string url;
  double seconds = 0; ///< since the start
  int nodes = 0;
  int gpus = 0;
};

/// Takes the home's lock, writes the kubeconfig, serves until `stop` says so (asked ten times a
/// second). Errors: another cluster runs there, the port is taken, files that cannot be read or
/// written.
Result<void> serve_cluster(const UpOptions& options, const std::function<bool()>& stop,
                           const std::function<void(const UpReady&)>& ready);

} // namespace berth::cli
