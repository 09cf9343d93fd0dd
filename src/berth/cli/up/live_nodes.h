// The simulated nodes of a process that may or may not have a cluster: of several over one etcd the
// leader's has.
#pragma once

#include <functional>
#include <utility>

#include "berth/cli/up/live_cluster.h"
#include "berth/cluster/node_names.h"
#include "berth/server/nodes.h"

namespace berth::cli {

/// While there is no cluster here, its nodes are another replica's: requests for them are refused
/// and say so.
class LiveNodes final : public server::Nodes {
 public:
  /// null: there is no cluster now.
  using Find = std::function<LiveCluster*()>;

  /// `names` of the nodes that the cluster has whenever there is one.
  LiveNodes(Find find, cluster::NodeNames names)
      : find_(std::move(find)), names_(std::move(names)) {}

  bool has(std::string_view node) const override { return names_.contains(node); }
  void
  open_log(std::string_view node, server::LogRequest what, std::function<void()> on_more,
           std::function<void(server::Answer<std::unique_ptr<server::LogReading>>)> done) override;
  void find_streams(std::string_view node, server::StreamRequest what,
                    std::function<void(server::Answer<server::StreamPlace>)> done) override;
  void measure(const std::vector<std::string>& nodes, std::function<void()> done) override;
  std::optional<server::NodeUsage> usage(std::string_view node) const override;

 private:
  server::Nodes* nodes() const;

  Find find_;
  cluster::NodeNames names_;
};

} // namespace berth::cli
