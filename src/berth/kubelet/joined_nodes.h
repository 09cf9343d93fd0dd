// Nodes of several kinds as one: simulated ones, this machine, agents in other processes.
#pragma once

#include <utility>
#include <vector>

#include "berth/server/nodes.h"

namespace berth::kubelet {

/// Each must outlive it. Of several that have a node the first is asked.
class JoinedNodes final : public server::Nodes {
 public:
  explicit JoinedNodes(std::vector<server::Nodes*> all) : all_(std::move(all)) {}

  bool has(std::string_view node) const override { return find(node) != nullptr; }
  void
  open_log(std::string_view node, server::LogRequest what, std::function<void()> on_more,
           std::function<void(server::Answer<std::unique_ptr<server::LogReading>>)> done) override;
  void find_streams(std::string_view node, server::StreamRequest what,
                    std::function<void(server::Answer<server::StreamPlace>)> done) override;
  void measure(const std::vector<std::string>& nodes, std::function<void()> done) override;
  std::optional<server::NodeUsage> usage(std::string_view node) const override;

 private:
  server::Nodes* find(std::string_view node) const;

  std::vector<server::Nodes*> all_;
};

} // namespace berth::kubelet
