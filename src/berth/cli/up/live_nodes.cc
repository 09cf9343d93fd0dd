#include "berth/cli/up/live_nodes.h"

#include <fmt/format.h>

namespace berth::cli {
namespace {

server::Status elsewhere(std::string_view node) {
  return server::internal_error(fmt::format(
      "node \"{}\" is simulated by the replica that leads; ask that one (lease berth in "
      "namespace kube-system names it)",
      node));
}

} // namespace

server::Nodes* LiveNodes::nodes() const {
  LiveCluster* cluster = find_();
  return cluster == nullptr ? nullptr : &cluster->nodes();
}

void LiveNodes::open_log(
    std::string_view node, server::LogRequest what, std::function<void()> on_more,
    std::function<void(server::Answer<std::unique_ptr<server::LogReading>>)> done) {
  if (server::Nodes* live = nodes()) {
    live->open_log(node, std::move(what), std::move(on_more), std::move(done));
  } else {
    done(tl::unexpected(elsewhere(node)));
  }
}

void LiveNodes::find_streams(std::string_view node, server::StreamRequest what,
                             std::function<void(server::Answer<server::StreamPlace>)> done) {
  if (server::Nodes* live = nodes()) {
    live->find_streams(node, std::move(what), std::move(done));
  } else {
    done(tl::unexpected(elsewhere(node)));
  }
}

void LiveNodes::measure(const std::vector<std::string>& nodes, std::function<void()> done) {
  if (server::Nodes* live = this->nodes()) {
    live->measure(nodes, std::move(done));
  } else {
    done();
  }
}

std::optional<server::NodeUsage> LiveNodes::usage(std::string_view node) const {
  const server::Nodes* live = nodes();
  return live == nullptr ? std::nullopt : live->usage(node);
}

} // namespace berth::cli
