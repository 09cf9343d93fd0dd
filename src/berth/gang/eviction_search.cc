#include "berth/gang/eviction_search.h"

#include <algorithm>
#include <tuple>

#include "berth/sched/plugins/gpu_topology.h"

namespace berth::gang {
namespace {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

/// Is `a` the better move? Then the heap has it on top.
template <class Move> bool better(const Move& a, const Move& b) {
  if (cheaper_per_member(a.cost, a.gain, b.cost, b.gain)) {
    return true;
  }
  return !cheaper_per_member(b.cost, b.gain, a.cost, a.gain) && a.position < b.position;
}

} // namespace

EvictionSearch::EvictionSearch(VictimBook& book, std::vector<PendingClass> classes)
    : book_(&book), classes_(std::move(classes)), nodes_(classes_.size()), room_(classes_.size()) {
  sites_.resize(state().node_slots());
  for (Site& one : sites_) {
    one.members.assign(classes_.size(), 0);
  }
  for (const PendingClass& one : classes_) {
    sessions_.push_back(one.session);
    position_.emplace_back(sites_.size(), kNowhere);
  }
  for (const Victim& victim : book.victims()) {
    if (victim.leaving) {
      site(victim.placed.node)
          .out.push_back(static_cast<VictimId>(&victim - book.victims().data()));
    }
  }
  const auto* topology = classes_.front().session->framework().find(sched::kGpuTopology);
  chooses_gpus_ = topology != nullptr && topology->has(sched::Point::Reserve);
}

/// Forgets the last search and makes these the nodes to look at, as far as each class may.
void EvictionSearch::begin(std::span<const sched::NodeId> nodes) {
  for (const sched::NodeId node : touched_) {
    Site& here = site(node);
    std::erase_if(here.out, [&](VictimId id) { return !book_->victims()[id].leaving; });
    here.members.assign(classes_.size(), 0);
    here.quality = 0;
    here.changes = 0;
    here.settled = false;
  }
  touched_.assign(nodes.begin(), nodes.end());
  gains_.clear();
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    for (const sched::NodeId node : nodes_[c]) {
      position_[c][node.index()] = kNowhere;
    }
    nodes_[c].clear();
    room_[c].clear();
    const auto candidates = classes_[c].session->candidates();
    std::ranges::copy_if(nodes, std::back_inserter(nodes_[c]), [&](sched::NodeId node) {
      return !classes_[c].session->narrowed() || std::ranges::binary_search(candidates, node);
    });
    for (std::size_t i = 0; i < nodes_[c].size(); ++i) {
      position_[c][nodes_[c][i].index()] = i;
    }
  }
}

std::map<sched::NodeId, std::vector<VictimId>>
EvictionSearch::by_node(std::span<const VictimId> ids) const {
  std::map<sched::NodeId, std::vector<VictimId>> nodes;
  for (const VictimId id : ids) {
    nodes[book_->victims()[id].placed.node].push_back(id);
  }
  return nodes;
}

// ---- the free room

/// Takes what room there is without evicting anybody; how many members are left.
std::int64_t EvictionSearch::use_free_room(std::size_t member_class, std::int64_t needed) {
  for (const sched::NodeId node : nodes_[member_class]) {
    if (needed > 0) {
      Site& here = site(node);
      Counts wanted = here.members;
      wanted[member_class] += needed;
      Fit found = fit(node, {}, wanted);
      needed -= found.members[member_class];
      here.members = std::move(found.members);
      here.quality = found.quality;
    }
    if (needed == 0) {
      room_[member_class].emplace(position_[member_class][node.index()], node);
    }
  }
  return needed;
}

/// If everybody went who may: would there be room? Else nothing is worth a look.
bool EvictionSearch::could_hold(std::size_t member_class, std::int64_t needed) {
  for (const sched::NodeId node : nodes_[member_class]) {
    const std::vector<VictimId> all = book_->removable(node);
    if (all.empty()) {
      continue;
    }
    Counts wanted = site(node).members;
    const std::int64_t before = wanted[member_class];
    wanted[member_class] += needed;
    needed -= std::max<std::int64_t>(0, fit(node, all, wanted).members[member_class] - before);
    if (needed <= 0) {
      return true;
    }
  }
  return false;
}

// ---- evictions

/// Members that get room on the other nodes of a group when all of it goes.
std::int64_t EvictionSearch::gain_elsewhere(std::size_t member_class, std::size_t group,
                                            sched::NodeId except, std::int64_t needed) {
  std::int64_t gain = 0;
  std::vector<VictimId> going;
  std::ranges::copy_if(book_->groups()[group].members, std::back_inserter(going),
                       [&](VictimId id) { return !book_->victims()[id].out; });
  for (const auto& [node, ids] : by_node(going)) {
    if (node == except || position_[member_class][node.index()] == kNowhere) {
      continue;
    }
    const Site& there = site(node);
    KnownGain& known = gains_[{group, node}];
    if (known.changes != there.changes + 1 || known.member_class != member_class) {
      Counts wanted = there.members;
      wanted[member_class] += needed;
      known = {.changes = there.changes + 1,
               .member_class = member_class,
               .gain = fit(node, ids, wanted).members[member_class] - there.members[member_class]};
    }
    gain += known.gain;
    if (gain >= needed) {
      break;
    }
  }
  return gain;
}

std::optional<EvictionSearch::Move>
EvictionSearch::best_move(std::size_t member_class, sched::NodeId node, std::int64_t needed) {
  auto set = smallest_set(member_class, node);
  if (!set) {
    return std::nullopt;
  }
  Move move{.node = node,
            .set = *std::move(set),
            .cost = {},
            .gain = 1,
            .position = position_[member_class][node.index()],
            .changes = site(node).changes,
            .epoch = epoch_};
  move.cost = book_->cost(move.set);
  if (needed > 1) {
    const std::int64_t gpus = classes_[member_class].pods.front()->gpus;
    const std::int64_t members = site(node).members[member_class];
    if (gpus == 0 || (members + 2) * gpus <= state().node(node).allocatable.get(sched::kGpu)) {
      std::vector<VictimId> here = book_->closed(move.set);
      std::erase_if(here, [&](VictimId id) { return book_->victims()[id].placed.node != node; });
      Counts wanted = site(node).members;
      wanted[member_class] += needed;
      move.gain =
          std::max<std::int64_t>(1, fit(node, here, wanted).members[member_class] - members);
    }
    for (const std::size_t group : book_->broken_by(move.set)) {
      if (move.gain < needed) {
        move.gain += gain_elsewhere(member_class, group, node, needed - move.gain);
      }
    }
    move.gain = std::min(move.gain, needed);
  }
  return move;
}

/// Evicts and gives the room to members; how many more have room now.
std::int64_t EvictionSearch::apply(std::size_t member_class, const Move& move,
                                   std::int64_t needed) {
  const std::vector<VictimId> going = book_->closed(move.set);
  book_->take(going);
  ++epoch_;
  auto nodes = by_node(going);
  std::int64_t gained = 0;
  const auto settle = [&](sched::NodeId node) {
    Site& here = site(node);
    if (position_[member_class][node.index()] == kNowhere) {
      return;
    }
    Counts wanted = here.members;
    wanted[member_class] += needed - gained;
    Fit found = fit(node, {}, wanted);
    if (found.members == wanted) {
      room_[member_class].emplace(position_[member_class][node.index()], node); // may have more
    }
    gained += found.members[member_class] - here.members[member_class];
    here.members = std::move(found.members);
    here.quality = found.quality;
  };
  const bool first = site(move.node).out.empty();
  for (const auto& [node, ids] : nodes) {
    site(node).out.insert(site(node).out.end(), ids.begin(), ids.end());
    site(node).settled = false;
    ++site(node).changes;
    touched_.push_back(node);
  }
  settle(move.node);
  // The set was the smallest for one member.
  site(move.node).settled = first && gained == 1 && going.size() == move.set.size();
  for (const auto& [node, ids] : nodes) {
    if (node != move.node) {
      settle(node);
    }
  }
  return gained;
}

bool EvictionSearch::find_for(std::size_t member_class) {
  std::int64_t needed = use_free_room(member_class, std::ssize(classes_[member_class].pods));
  if (needed == 0) {
    return true;
  }
  if (!could_hold(member_class, needed)) {
    return false;
  }
  std::vector<Move> heap;
  const auto worse = [](const Move& a, const Move& b) { return better(b, a); };
  const auto push = [&](sched::NodeId node) {
    if (auto move = best_move(member_class, node, needed)) {
      heap.push_back(*std::move(move));
      std::ranges::push_heap(heap, worse);
    }
  };
  std::ranges::for_each(nodes_[member_class], push);
  while (needed > 0 && !heap.empty()) {
    std::ranges::pop_heap(heap, worse);
    const Move move = std::move(heap.back());
    heap.pop_back();
    if (move.changes != site(move.node).changes) {
      continue; // thought of again when the node changed
    }
    if (move.epoch != epoch_) {
      push(move.node); // budgets, groups and the need have changed
      continue;
    }
    const auto changed = by_node(book_->closed(move.set));
    needed -= apply(member_class, move, needed);
    if (needed > 0) {
      for (const auto& [node, ids] : changed) {
        if (position_[member_class][node.index()] != kNowhere) {
          push(node);
        }
      }
    }
  }
  return needed == 0;
}

bool EvictionSearch::find(std::span<const sched::NodeId> nodes) {
  begin(nodes);
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    if (!find_for(c)) {
      book_->reset();
      return false;
    }
  }
  reprieve();
  return true;
}

std::vector<std::pair<sched::NodeId, std::int64_t>>
EvictionSearch::rooms(std::size_t member_class) const {
  std::vector<std::pair<sched::NodeId, std::int64_t>> found;
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    if (sites_[i].members[member_class] > 0) {
      found.emplace_back(sched::NodeId(static_cast<std::uint32_t>(i)),
                         sites_[i].members[member_class]);
    }
  }
  return found;
}

} // namespace berth::gang
