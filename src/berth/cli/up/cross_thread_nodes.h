// Nodes that live on the loop of another thread, as the API server's loop sees them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "berth/net/asio_loop.h"
#include "berth/server/nodes.h"

namespace berth::cli {

/// To be made and destroyed by the API server's thread while the loop of the nodes does not run.
/// Both loops, and the nodes, must outlive it. Logs that are read meanwhile end with it.
class CrossThreadNodes final : public server::Nodes {
 public:
  /// `names` of all nodes there will be.
  CrossThreadNodes(server::Nodes& nodes, const std::vector<std::string>& names,
                   net::AsioLoop& of_nodes, net::AsioLoop& home);
  ~CrossThreadNodes() override;
  CrossThreadNodes(const CrossThreadNodes&) = delete;
  CrossThreadNodes& operator=(const CrossThreadNodes&) = delete;

  bool has(std::string_view node) const override { return names_.contains(node); }
  void
  open_log(std::string_view node, server::LogRequest what, std::function<void()> on_more,
           std::function<void(server::Answer<std::unique_ptr<server::LogReading>>)> done) override;
  void find_streams(std::string_view node, server::StreamRequest what,
                    std::function<void(server::Answer<server::StreamPlace>)> done) override;
  void measure(const std::vector<std::string>& nodes, std::function<void()> done) override;
  /// As last measured.
  std::optional<server::NodeUsage> usage(std::string_view node) const override;

  struct Near;
  struct Far;

 private:
  std::set<std::string, std::less<>> names_;
  std::shared_ptr<Far> far_;
  std::shared_ptr<Near> near_;
};

} // namespace berth::cli
