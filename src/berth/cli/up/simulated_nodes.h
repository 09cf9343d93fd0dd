// The simulated machines as the API server sees nodes.
#pragma once

#include "berth/base/loop.h"
#include "berth/cluster/fleet.h"
#include "berth/server/nodes.h"
#include "berth/store/registry.h"

namespace berth::cli {

/// Fleet and registry must outlive it.
class SimulatedNodes final : public server::Nodes {
 public:
  SimulatedNodes(Loop& loop, cluster::Fleet& fleet, store::Registry& registry)
      : loop_(loop), fleet_(fleet), registry_(registry) {}

  bool reachable(std::string_view node) const override;
  std::optional<server::ContainerLog> log(std::string_view node,
                                          std::string_view container) const override;
  std::unique_ptr<server::LogFollower> follow(std::string_view node, std::string_view container,
                                              std::function<void()> on_more) override;
  std::optional<server::NodeUsage> usage(std::string_view node) const override;

 private:
  Loop& loop_;
  cluster::Fleet& fleet_;
  store::Registry& registry_;
};

} // namespace berth::cli
