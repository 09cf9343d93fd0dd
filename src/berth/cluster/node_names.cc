#include "berth/cluster/node_names.h"

#include <utility>

#include <fmt/format.h>

namespace berth::cluster {

std::vector<std::string> node_names(const NodeGroup& group) {
  const std::string& prefix = group.prefix.empty() ? group.platform : group.prefix;
  std::vector<std::string> names;
  for (int i = 1; i <= group.count; ++i) {
    names.push_back(fmt::format("{}-{}", prefix, i));
  }
  return names;
}

NodeNames node_names(const ClusterSpec& spec) {
  NodeNames names;
  for (const NodeGroup& group : spec.groups) {
    for (std::string& name : node_names(group)) {
      names.insert(std::move(name));
    }
  }
  for (const api::Manifest& node : spec.nodes) {
    names.insert(node.object.meta().name);
  }
  return names;
}

} // namespace berth::cluster
