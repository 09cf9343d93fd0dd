// The simulated nodes of a process that may or may not have a cluster: of several over one etcd the
// leader's has.
#pragma once

#include <functional>
#include <utility>

#include "berth/cli/up/live_cluster.h"
#include "berth/server/nodes.h"

namespace berth::cli {

/// While there is no cluster here, any node may be one of another replica's: requests for it are
/// refused and say so.
class LiveNodes final : public server::Nodes {
 public:
  /// null: there is no cluster now.
  using Find = std::function<LiveCluster*()>;

  explicit LiveNodes(Find find) : find_(std::move(find)) {}

  bool has(std::string_view node) const override;
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
};

} // namespace berth::cli
