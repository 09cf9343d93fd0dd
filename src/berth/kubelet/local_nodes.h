// The one node whose containers run on this machine, as an API server in the same process sees it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/kubelet/local_node.h"
#include "berth/kubelet/usage_meter.h"
#include "berth/server/nodes.h"

namespace berth::kubelet {

/// What its GPUs do now; empty if it has none.
using AskGpus = std::function<std::vector<server::GpuUsage>()>;

/// `local` and `meter` must outlive it; a measurement that is under way when it goes is not told.
class LocalNodes final : public server::Nodes {
 public:
  LocalNodes(std::string name, LocalNode& local, UsageMeter& meter, AskGpus gpus)
      : name_(std::move(name)), local_(&local), meter_(&meter), gpus_(std::move(gpus)) {}

  bool has(std::string_view node) const override { return node == name_; }
  void
  open_log(std::string_view /*node*/, server::LogRequest what, std::function<void()> on_more,
           std::function<void(server::Answer<std::unique_ptr<server::LogReading>>)> done) override {
    local_->open_log(std::move(what), std::move(on_more), std::move(done));
  }
  void find_streams(std::string_view /*node*/, server::StreamRequest what,
                    std::function<void(server::Answer<server::StreamPlace>)> done) override {
    local_->find_streams(std::move(what), std::move(done));
  }
  void measure(const std::vector<std::string>& nodes, std::function<void()> done) override;
  /// nullopt: the runtime did not answer when it was last measured, or it never was.
  std::optional<server::NodeUsage> usage(std::string_view /*node*/) const override {
    return *last_;
  }

 private:
  std::string name_;
  LocalNode* local_;
  UsageMeter* meter_;
  AskGpus gpus_;
  /// Shared with what is under way.
  std::shared_ptr<std::optional<server::NodeUsage>> last_ =
      std::make_shared<std::optional<server::NodeUsage>>();
};

} // namespace berth::kubelet
