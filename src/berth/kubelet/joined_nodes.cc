#include "berth/kubelet/joined_nodes.h"

#include <algorithm>

#include <fmt/format.h>

namespace berth::kubelet {
namespace {

server::Status unknown(std::string_view node) {
  return server::internal_error(fmt::format("no agent of node \"{}\" is known", node));
}

} // namespace

server::Nodes* JoinedNodes::find(std::string_view node) const {
  const auto found =
      std::ranges::find_if(all_, [&](const server::Nodes* one) { return one->has(node); });
  return found == all_.end() ? nullptr : *found;
}

bool JoinedNodes::reachable(std::string_view node) const {
  const server::Nodes* nodes = find(node);
  return nodes != nullptr && nodes->reachable(node);
}

void JoinedNodes::open_log(
    std::string_view node, server::LogRequest what, std::function<void()> on_more,
    std::function<void(server::Answer<std::unique_ptr<server::LogReading>>)> done) {
  if (server::Nodes* nodes = find(node)) {
    nodes->open_log(node, std::move(what), std::move(on_more), std::move(done));
  } else {
    done(tl::unexpected(unknown(node)));
  }
}

void JoinedNodes::find_streams(std::string_view node, server::StreamRequest what,
                               std::function<void(server::Answer<server::StreamPlace>)> done) {
  if (server::Nodes* nodes = find(node)) {
    nodes->find_streams(node, std::move(what), std::move(done));
  } else {
    done(tl::unexpected(unknown(node)));
  }
}

std::optional<server::NodeUsage> JoinedNodes::usage(std::string_view node) const {
  const server::Nodes* nodes = find(node);
  return nodes == nullptr ? std::nullopt : nodes->usage(node);
}

} // namespace berth::kubelet
