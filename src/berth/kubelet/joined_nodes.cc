#include "berth/kubelet/joined_nodes.h"

#include <algorithm>
#include <map>
#include <memory>

namespace berth::kubelet {

server::Nodes* JoinedNodes::find(std::string_view node) const {
  const auto found =
      std::ranges::find_if(all_, [&](const server::Nodes* one) { return one->has(node); });
  return found == all_.end() ? nullptr : *found;
}

void JoinedNodes::open_log(
    std::string_view node, server::LogRequest what, std::function<void()> on_more,
    std::function<void(server::Answer<std::unique_ptr<server::LogReading>>)> done) {
  if (server::Nodes* nodes = find(node)) {
    nodes->open_log(node, std::move(what), std::move(on_more), std::move(done));
  } else {
    done(tl::unexpected(std::move(what.unreachable)));
  }
}

void JoinedNodes::find_streams(std::string_view node, server::StreamRequest what,
                               std::function<void(server::Answer<server::StreamPlace>)> done) {
  if (server::Nodes* nodes = find(node)) {
    nodes->find_streams(node, std::move(what), std::move(done));
  } else {
    done(tl::unexpected(std::move(what.unreachable)));
  }
}

void JoinedNodes::measure(const std::vector<std::string>& nodes, std::function<void()> done) {
  std::map<server::Nodes*, std::vector<std::string>> asked;
  for (const std::string& node : nodes) {
    if (server::Nodes* one = find(node)) {
      asked[one].push_back(node);
    }
  }
  // One more than are asked: nobody tells before all have been.
  auto left = std::make_shared<std::size_t>(asked.size() + 1);
  const auto told = [left, done = std::move(done)] {
    if (--*left == 0) {
      done();
    }
  };
  for (const auto& [one, its] : asked) {
    one->measure(its, told);
  }
  told();
}

std::optional<server::NodeUsage> JoinedNodes::usage(std::string_view node) const {
  const server::Nodes* nodes = find(node);
  return nodes == nullptr ? std::nullopt : nodes->usage(node);
}

} // namespace berth::kubelet
