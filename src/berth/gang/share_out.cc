#include "berth/gang/share_out.h"

#include <algorithm>
#include <tuple>

#include "berth/base/assert.h"

namespace berth::gang {
namespace {

bool splits_into_nodes(const Domain& domain) {
  return domain.loose && domain.children.empty();
}

} // namespace

RoomByDomain::RoomByDomain(const TopologyTree& tree, std::vector<std::int64_t> by_node,
                           std::span<const sched::NodeId> placed_on, std::int64_t most)
    : tree_(&tree), by_node_(std::move(by_node)), placed_on_(placed_on.begin(), placed_on.end()),
      most_(most), capacity_(domain_capacities(tree, by_node_)), stages_(tree.domains().size()),
      frontiers_(tree.domains().size()) {
  std::ranges::sort(placed_on_);
  for (const Domain& domain : tree.domains()) {
    depth_ = std::max(depth_, domain.depth);
  }
  BERTH_ASSERT(depth_ <= kMostLevels, "a tree of too many levels");
  for (std::size_t domain = tree.domains().size(); domain > 0; --domain) {
    measure(domain - 1); // children come after their parents
  }
}

bool RoomByDomain::is_used(sched::NodeId node) const {
  return std::ranges::binary_search(placed_on_, node);
}

bool RoomByDomain::is_used(const Domain& domain) const {
  return std::ranges::any_of(placed_on_, [&](sched::NodeId node) {
    return std::ranges::binary_search(domain.nodes, node);
  });
}

/// One unit at every level from `depth` (1: the widest level) down.
Spread RoomByDomain::unit_below(std::size_t depth) const {
  Spread spread{};
  for (std::size_t level = depth; level <= depth_; ++level) {
    spread[level - 1] = level == 0 ? 0 : 1;
  }
  return spread;
}

void RoomByDomain::measure(std::size_t index) {
  const Domain& domain = tree_->domains()[index];
  std::vector<Point>& frontier = frontiers_[index];
  if (domain.children.empty() && !domain.loose) {
    if (capacity_[index] > 0) {
      frontier.push_back(
          {.spread = domain.depth == 0 || is_used(domain) ? Spread{} : unit_below(domain.depth),
           .room = capacity_[index]});
    }
    return;
  }
  std::vector<std::size_t> leaves;
  if (splits_into_nodes(domain)) {
    for (const sched::NodeId node : domain.nodes) {
      if (is_used(node)) {
        const Point choice{.spread = {}, .room = by_node_[node.index()], .before = 0, .taken = 1};
        add_stage(index, {.parts = {node.index()}, .leaves = true, .points = {}}, {&choice, 1});
      } else {
        leaves.push_back(node.index());
      }
    }
  } else {
    for (const std::size_t child : domain.children) {
      const Domain& part = tree_->domains()[child];
      if (part.children.empty() && !part.loose && !is_used(part)) {
        leaves.push_back(child);
      } else {
        add_part(index, child);
      }
    }
  }
  add_leaves(index, std::move(leaves));
  frontier = stages_[index].empty() ? std::vector<Point>() : stages_[index].back().points;
  std::erase_if(frontier, [](const Point& point) { return point.room == 0; });
  if (domain.depth > 0 && !splits_into_nodes(domain)) {
    for (Point& point : frontier) {
      // Nodes without the label count by what they share below.
      point.spread[domain.depth - 1] =
          domain.loose ? point.spread[domain.depth] : (is_used(domain) ? 0 : 1);
    }
  }
}

/// The largest first: so many of them hold the most that so many can.
void RoomByDomain::add_leaves(std::size_t domain, std::vector<std::size_t> leaves) {
  const Domain& whole = tree_->domains()[domain];
  const auto& room = splits_into_nodes(whole) ? by_node_ : capacity_;
  std::erase_if(leaves, [&](std::size_t leaf) { return leaf >= room.size() || room[leaf] == 0; });
  std::ranges::stable_sort(leaves, std::ranges::greater(),
                           [&](std::size_t leaf) { return room[leaf]; });
  const Spread unit = unit_below(splits_into_nodes(whole) ? whole.depth : whole.depth + 1);
  std::vector<Point> choices;
  Point sum;
  for (std::size_t i = 0; i < leaves.size() && sum.room < most_; ++i) {
    for (std::size_t level = 0; level < kMostLevels; ++level) {
      sum.spread[level] += unit[level];
    }
    sum.room += room[leaves[i]];
    sum.taken = i + 1;
    choices.push_back(sum);
  }
  add_stage(domain, {.parts = std::move(leaves), .leaves = true, .points = {}}, choices);
}

void RoomByDomain::add_part(std::size_t domain, std::size_t part) {
  std::vector<Point> choices = frontiers_[part];
  for (std::size_t i = 0; i < choices.size(); ++i) {
    choices[i].taken = i + 1;
  }
  add_stage(domain, {.parts = {part}, .leaves = false, .points = {}}, choices);
}

/// Every choice beside everything that the parts so far can hold.
void RoomByDomain::add_stage(std::size_t domain, Stage stage, std::span<const Point> choices) {
  std::vector<Stage>& stages = stages_[domain];
  const std::vector<Point> nothing(1);
  const std::vector<Point>& before = stages.empty() ? nothing : stages.back().points;
  std::vector<Point> all;
  all.reserve(before.size() * (choices.size() + 1));
  for (std::size_t i = 0; i < before.size(); ++i) {
    Point kept = before[i];
    kept.before = i;
    kept.taken = 0;
    all.push_back(kept);
    for (const Point& choice : choices) {
      Point both = kept;
      for (std::size_t level = 0; level < kMostLevels; ++level) {
        both.spread[level] += choice.spread[level];
      }
      both.room += choice.room;
      both.taken = choice.taken;
      all.push_back(both);
    }
  }
  std::ranges::stable_sort(all, [](const Point& a, const Point& b) {
    return a.spread != b.spread ? a.spread < b.spread : a.room > b.room;
  });
  std::int64_t best = -1;
  for (const Point& point : all) {
    if (point.room > best && best < most_) {
      stage.points.push_back(point);
      best = point.room;
    }
  }
  stages.push_back(std::move(stage));
}

const RoomByDomain::Point& RoomByDomain::point(std::size_t domain, std::int64_t members) const {
  const auto found = std::ranges::find_if(
      frontiers_[domain], [&](const Point& point) { return point.room >= members; });
  BERTH_ASSERT(found != frontiers_[domain].end(), "more members than the domain can take");
  return *found;
}

Spread RoomByDomain::spread(std::size_t domain, std::int64_t members) const {
  return point(domain, members).spread;
}

/// The parts of the best point that holds so many members, the largest first.
std::vector<RoomByDomain::Part> RoomByDomain::parts_of(std::size_t domain,
                                                       std::int64_t members) const {
  std::vector<Part> parts;
  const std::vector<Stage>& stages = stages_[domain];
  const auto& room = splits_into_nodes(tree_->domains()[domain]) ? by_node_ : capacity_;
  const auto& last = stages.back().points;
  auto at = static_cast<std::size_t>(
      std::ranges::find_if(last, [&](const Point& point) { return point.room >= members; }) -
      last.begin());
  for (std::size_t i = stages.size(); i > 0; --i) {
    const Stage& stage = stages[i - 1];
    const Point& point = stage.points[at];
    for (std::size_t leaf = 0; stage.leaves && leaf < point.taken; ++leaf) {
      parts.push_back({.index = stage.parts[leaf], .room = room[stage.parts[leaf]]});
    }
    if (!stage.leaves && point.taken > 0) {
      const std::size_t part = stage.parts.front();
      parts.push_back({.index = part, .room = frontiers_[part][point.taken - 1].room});
    }
    at = point.before;
  }
  std::ranges::sort(parts, {}, [](const Part& part) { return std::pair(-part.room, part.index); });
  return parts;
}

/// Where the last members of a domain go: with the least spread, then where they fill most.
RoomByDomain::Part RoomByDomain::best_fit(std::size_t domain, const std::vector<Part>& taken,
                                          const Part& instead, std::int64_t members) const {
  const Domain& whole = tree_->domains()[domain];
  std::vector<std::size_t> others;
  if (splits_into_nodes(whole)) {
    for (const sched::NodeId node : whole.nodes) {
      others.push_back(node.index());
    }
  } else {
    others = whole.children;
  }
  std::erase_if(others, [&](std::size_t other) {
    return other != instead.index && std::ranges::find(taken, other, &Part::index) != taken.end();
  });
  const auto& room = splits_into_nodes(whole) ? by_node_ : capacity_;
  std::erase_if(others,
                [&](std::size_t other) { return other >= room.size() || room[other] < members; });
  const auto fit = [&](std::size_t other) {
    Spread spread{};
    if (!splits_into_nodes(whole)) {
      spread = this->spread(other, members);
    } else if (!is_used(sched::NodeId(static_cast<std::uint32_t>(other)))) {
      spread = unit_below(whole.depth);
    }
    return std::tuple(spread, room[other], other);
  };
  const std::size_t best = *std::ranges::min_element(others, {}, fit);
  return {.index = best, .room = room[best]};
}

void RoomByDomain::divide(std::size_t domain, std::int64_t members,
                          std::vector<std::pair<std::size_t, Share>>& into) const {
  const Domain& whole = tree_->domains()[domain];
  if (whole.children.empty() && !whole.loose) {
    into.emplace_back(domain, Share{.nodes = whole.nodes, .members = members});
    return;
  }
  const std::vector<Part> parts = parts_of(domain, members);
  for (const Part& part : parts) {
    const std::int64_t share = std::min(members, part.room);
    const Part where = share == members ? best_fit(domain, parts, part, share) : part;
    if (splits_into_nodes(whole)) {
      into.emplace_back(domain,
                        Share{.nodes = {sched::NodeId(static_cast<std::uint32_t>(where.index))},
                              .members = share});
    } else {
      divide(where.index, share, into);
    }
    members -= share;
    if (members == 0) {
      return;
    }
  }
}

std::vector<Share> RoomByDomain::share_out(std::size_t domain, std::int64_t members) const {
  BERTH_ASSERT(members <= capacity_[domain], "more members than the domain can take");
  std::vector<std::pair<std::size_t, Share>> found;
  divide(domain, members, found);
  std::ranges::stable_sort(found, {}, [](const auto& entry) {
    return std::pair(entry.first, entry.second.nodes.front());
  });
  std::vector<Share> shares;
  for (auto& [leaf, share] : found) {
    shares.push_back(std::move(share));
  }
  return shares;
}

} // namespace berth::gang
