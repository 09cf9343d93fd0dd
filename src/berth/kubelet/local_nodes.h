// The one node whose containers run on this machine, as an API server in the same process sees it.
#pragma once

#include <string>
#include <utility>

#include "berth/kubelet/local_node.h"
#include "berth/server/nodes.h"

namespace berth::kubelet {

/// `local` must outlive it.
class LocalNodes final : public server::Nodes {
 public:
  LocalNodes(std::string name, LocalNode& local) : name_(std::move(name)), local_(&local) {}

  bool has(std::string_view node) const override { return node == name_; }
  bool reachable(std::string_view node) const override { return has(node); }
  void
  open_log(std::string_view /*node*/, server::LogRequest what, std::function<void()> on_more,
           std::function<void(server::Answer<std::unique_ptr<server::LogReading>>)> done) override {
    local_->open_log(std::move(what), std::move(on_more), std::move(done));
  }
  void find_streams(std::string_view /*node*/, server::StreamRequest what,
                    std::function<void(server::Answer<server::StreamPlace>)> done) override {
    local_->find_streams(std::move(what), std::move(done));
  }
  /// nullopt: nobody measures what it uses.
  std::optional<server::NodeUsage> usage(std::string_view /*node*/) const override {
    return std::nullopt;
  }

 private:
  std::string name_;
  LocalNode* local_;
};

} // namespace berth::kubelet
