#include "berth/model/node_affinity.h"

#include <algorithm>

namespace berth::model {

bool matches_required_affinity(const PodSpec& spec, const Node& node) {
  const bool selected = std::ranges::all_of(spec.node_selector, [&](const auto& wanted) {
    const auto it = node.meta.labels.find(wanted.first);
    return it != node.meta.labels.end() && it->second == wanted.second;
  });
  if (!selected || !spec.node_affinity || !spec.node_affinity->required) {
    return selected;
  }
  return spec.node_affinity->required->matches(node.meta.labels, node.name());
}

} // namespace berth::model
