#include "berth/gang/spread_levels.h"

#include <algorithm>
#include <map>
#include <utility>

namespace berth::gang {
namespace {

/// A domain that nothing divides, and the domains it is in, the widest first, itself last.
struct Leaf {
  std::size_t domain = 0;
  std::vector<std::size_t> path;
};

std::vector<Leaf> leaves(const TopologyTree& tree) {
  std::vector<Leaf> found;
  std::vector<Leaf> open = {{.domain = 0, .path = {}}};
  while (!open.empty()) {
    Leaf leaf = std::move(open.back());
    open.pop_back();
    const Domain& domain = tree.domains()[leaf.domain];
    for (const std::size_t child : domain.children) {
      open.push_back({.domain = child, .path = leaf.path});
      open.back().path.push_back(child);
    }
    if (domain.children.empty()) {
      found.push_back(std::move(leaf));
    }
  }
  return found;
}

} // namespace

SpreadLevels::SpreadLevels(const TopologyTree& tree, std::size_t node_slots,
                           std::string_view required_key)
    : confined_(!required_key.empty()) {
  const std::vector<Domain>& domains = tree.domains();
  const std::vector<Leaf> all = leaves(tree);
  if (!required_key.empty()) {
    std::vector<std::uint32_t> names(node_slots, kNowhere);
    for (const Leaf& leaf : all) {
      for (const std::size_t at : leaf.path) {
        if (domains[at].key == required_key && !domains[at].loose) {
          for (const sched::NodeId node : domains[leaf.domain].nodes) {
            names[node.index()] = static_cast<std::uint32_t>(at);
          }
        }
      }
    }
    number(std::move(names));
  }
  std::size_t depth = 0;
  for (const Domain& domain : domains) {
    depth = std::max(depth, domain.depth);
  }
  for (std::size_t level = 0; level < depth; ++level) {
    std::vector<std::uint32_t> names(node_slots, kNowhere);
    for (const Leaf& leaf : all) {
      std::size_t at = std::min(level, leaf.path.size() - 1);
      while (at < leaf.path.size() && domains[leaf.path[at]].loose) {
        ++at;
      }
      for (const sched::NodeId node : domains[leaf.domain].nodes) {
        names[node.index()] = static_cast<std::uint32_t>(
            at < leaf.path.size() ? leaf.path[at] : domains.size() + node.index());
      }
    }
    number(std::move(names));
  }
}

void SpreadLevels::number(std::vector<std::uint32_t> names) {
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (const std::uint32_t name : names) {
    if (name != kNowhere) {
      numbers.emplace(name, 0);
    }
  }
  std::uint32_t next = 0;
  for (auto& [name, number] : numbers) {
    number = next++;
  }
  for (std::uint32_t& name : names) {
    name = name == kNowhere ? kNowhere : numbers.at(name);
  }
  unit_of_.push_back(std::move(names));
  units_.push_back(next);
}

} // namespace berth::gang
