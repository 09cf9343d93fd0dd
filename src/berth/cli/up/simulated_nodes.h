// The simulated machines as the API server sees nodes.
#pragma once

#include "berth/base/loop.h"
#include "berth/cli/up/simulated_gpus.h"
#include "berth/cluster/fleet.h"
#include "berth/server/nodes.h"
#include "berth/store/registry.h"

namespace berth::cli {

/// Fleet and registry must outlive it.
class SimulatedNodes final : public server::Nodes {
 public:
  SimulatedNodes(Loop& loop, cluster::Fleet& fleet, store::Registry& registry)
      : loop_(loop), fleet_(fleet), registry_(registry) {}

  bool has(std::string_view node) const override { return fleet_.find(node) != nullptr; }
  bool reachable(std::string_view node) const override;
  void
  open_log(std::string_view node, server::LogRequest what, std::function<void()> on_more,
           std::function<void(server::Answer<std::unique_ptr<server::LogReading>>)> done) override;
  /// 501 in any case, saying what to do instead.
  void find_streams(std::string_view node, server::StreamRequest what,
                    std::function<void(server::Answer<server::StreamPlace>)> done) override;
  std::optional<server::NodeUsage> usage(std::string_view node) const override;

 private:
  Loop& loop_;
  cluster::Fleet& fleet_;
  store::Registry& registry_;
  mutable SimulatedGpus gpus_; ///< whose counters go on when somebody looks
};

} // namespace berth::cli
