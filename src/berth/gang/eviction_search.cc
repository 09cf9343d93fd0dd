#include "berth/gang/eviction_search.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "berth/hardware/bandwidth.h"
#include "berth/sched/open_gpus.h"
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

EvictionSearch::EvictionSearch(VictimBook& book, std::vector<MemberClass> classes)
    : book_(&book), classes_(std::move(classes)), nodes_(classes_.size()), room_(classes_.size()) {
  sites_.resize(state().node_slots());
  for (Site& one : sites_) {
    one.members.assign(classes_.size(), 0);
  }
  for (const MemberClass& one : classes_) {
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

// ---- what fits on a node
// -------------------------------------------------------------------------

EvictionSearch::GpuSet EvictionSearch::best_of(const sched::NodeInfo& node, hardware::GpuMask open,
                                               std::int64_t gpus) {
  const auto [entry, fresh] = gpu_sets_.try_emplace({node.platform, {open, gpus}});
  if (fresh && gpus <= std::popcount(open)) {
    const auto chosen = hardware::choose_gpus(*node.platform, open, static_cast<int>(gpus),
                                              hardware::ChoicePolicy::Topology);
    if (chosen) {
      entry->second = {.gpus = *chosen,
                       .all_reduce = hardware::all_reduce_mbps(*node.platform, *chosen)};
    }
  }
  return entry->second;
}

/// What GpuTopology would give the next member; empty where it gives nothing by index.
EvictionSearch::GpuSet EvictionSearch::gpus_for(sched::NodeId node, std::int64_t gpus) {
  const sched::NodeInfo& info = state().node(node);
  if (!chooses_gpus_ || gpus == 0 || info.platform == nullptr || info.gpus.all == 0) {
    return {};
  }
  return best_of(info, sched::open_gpus(state(), info), gpus);
}

void EvictionSearch::take_out(sched::NodeTrial& trial, std::span<const VictimId> ids) {
  for (const VictimId id : ids) {
    trial.remove(book_->victims()[id].placed.pod);
  }
}

/// Puts members number `from` to `to` of the class there, as long as they fit.
void EvictionSearch::seat(sched::NodeTrial& trial, sched::NodeId node, std::size_t member_class,
                          std::int64_t from, std::int64_t to, Fit& fit) {
  const std::vector<sched::PodPtr>& pods = classes_[member_class].pods;
  for (std::int64_t i = from; i < std::min(to, std::ssize(pods)) && fits(member_class, node); ++i) {
    const sched::PodPtr& pod = pods[static_cast<std::size_t>(i)];
    const GpuSet set = gpus_for(node, pod->gpus);
    trial.add(pod, set.gpus);
    ++fit.members[member_class];
    fit.quality += set.all_reduce;
  }
}

EvictionSearch::Fit EvictionSearch::fit(sched::NodeId node, std::span<const VictimId> also_out,
                                        const Counts& wanted) {
  sched::NodeTrial trial(sessions_, node);
  take_out(trial, site(node).out);
  take_out(trial, also_out);
  Fit found{.members = Counts(classes_.size(), 0), .quality = 0};
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    seat(trial, node, c, 0, wanted[c], found);
  }
  return found;
}

// ---- the free room
// -------------------------------------------------------------------------------

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
// -----------------------------------------------------------------------------------

/// Everybody who may go is taken away; then all come back who are not in the way, the dearest
/// first. None: the member does not fit even so.
std::optional<std::vector<VictimId>>
EvictionSearch::reprieved(std::size_t member_class, sched::NodeId node,
                          const std::vector<VictimId>& removable, const std::set<VictimId>& must_go,
                          const std::set<VictimId>& must_stay) {
  sched::NodeTrial trial(sessions_, node);
  take_out(trial, site(node).out);
  Fit seated{.members = Counts(classes_.size(), 0), .quality = 0};
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    seat(trial, node, c, 0, site(node).members[c], seated);
  }
  std::for_each(removable.rbegin(), removable.rend(), [&](VictimId id) {
    if (!must_stay.contains(id)) {
      trial.remove(book_->victims()[id].placed.pod);
    }
  });
  if (!fits(member_class, node)) {
    return std::nullopt;
  }
  std::vector<VictimId> set;
  for (const VictimId id : removable) {
    if (must_stay.contains(id)) {
      continue;
    }
    if (must_go.contains(id)) {
      set.push_back(id);
      continue;
    }
    const sched::PlacedPod& placed = book_->victims()[id].placed;
    trial.add(placed.pod, placed.gpus);
    if (!fits(member_class, node)) {
      trial.take_back();
      set.push_back(id);
    }
  }
  return set;
}

/// Another set of victims than `set` if the GPUs that it frees, with those that are free, hold a
/// better one for the member and it violates no more budgets.
std::vector<VictimId> EvictionSearch::with_better_gpus(std::size_t member_class, sched::NodeId node,
                                                       const std::vector<VictimId>& removable,
                                                       std::vector<VictimId> set) {
  const std::int64_t gpus = classes_[member_class].pods.front()->gpus;
  const sched::NodeInfo& info = state().node(node);
  std::vector<VictimId> holders;
  hardware::GpuMask held = 0;
  for (const VictimId id : removable) {
    const hardware::GpuMask mask = book_->victims()[id].placed.gpus;
    if (mask != 0) {
      holders.push_back(id);
      held |= mask;
    }
  }
  if (!chooses_gpus_ || gpus < 2 || info.platform == nullptr || info.gpus.all == 0 ||
      holders.size() > kMostHolders) {
    return set;
  }
  hardware::GpuMask open = 0; // with everybody back
  {
    sched::NodeTrial trial(sessions_, node);
    take_out(trial, site(node).out);
    Fit seated{.members = Counts(classes_.size(), 0), .quality = 0};
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      seat(trial, node, c, 0, site(node).members[c], seated);
    }
    if (info.gpus.unplaced > 0) {
      return set; // who holds what is not known
    }
    open = sched::open_gpus(state(), info);
  }
  const auto quality = [&](hardware::GpuMask freed) {
    return best_of(info, open | freed, gpus).all_reduce;
  };
  hardware::GpuMask freed = 0;
  std::ranges::for_each(set, [&](VictimId id) { freed |= book_->victims()[id].placed.gpus; });
  const std::int64_t reached = quality(freed);
  if (reached == quality(held)) {
    return set;
  }
  using Key = std::tuple<std::int64_t, std::int64_t, EvictionCost>;
  std::vector<std::pair<Key, std::uint32_t>> choices;
  for (std::uint32_t subset = 1; subset < (1U << holders.size()); ++subset) {
    std::vector<VictimId> ids;
    hardware::GpuMask frees = 0;
    for (std::size_t i = 0; i < holders.size(); ++i) {
      if ((subset >> i & 1U) != 0) {
        ids.push_back(holders[i]);
        frees |= book_->victims()[holders[i]].placed.gpus;
      }
    }
    if (quality(frees) > reached) {
      const EvictionCost cost = book_->cost(ids);
      choices.push_back({{cost.violations, -quality(frees), cost}, subset});
    }
  }
  std::ranges::sort(choices);
  const std::int64_t allowed = book_->cost(set).violations;
  for (const auto& [key, subset] : choices) {
    if (std::get<0>(key) > allowed) {
      break;
    }
    std::set<VictimId> go;
    std::set<VictimId> stay;
    for (std::size_t i = 0; i < holders.size(); ++i) {
      ((subset >> i & 1U) != 0 ? go : stay).insert(holders[i]);
    }
    auto other = reprieved(member_class, node, removable, go, stay);
    if (other && book_->cost(*other).violations <= allowed) {
      return *std::move(other);
    }
  }
  return set;
}

/// The set of victims on the node that costs least and lets one more member in.
std::optional<std::vector<VictimId>> EvictionSearch::smallest_set(std::size_t member_class,
                                                                  sched::NodeId node) {
  const std::vector<VictimId> removable = book_->removable(node);
  if (removable.empty()) {
    return std::nullopt;
  }
  tried_.insert(node);
  auto set = reprieved(member_class, node, removable, {}, {});
  if (!set || set->empty()) {
    return std::nullopt;
  }
  return with_better_gpus(member_class, node, removable, *std::move(set));
}

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
    std::vector<VictimId> here = book_->closed(move.set);
    std::erase_if(here, [&](VictimId id) { return book_->victims()[id].placed.node != node; });
    Counts wanted = site(node).members;
    wanted[member_class] += needed;
    move.gain = std::max<std::int64_t>(1, fit(node, here, wanted).members[member_class] -
                                              site(node).members[member_class]);
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
    gained += found.members[member_class] - here.members[member_class];
    here.members = std::move(found.members);
    here.quality = found.quality;
    room_[member_class].emplace(position_[member_class][node.index()], node);
  };
  for (const auto& [node, ids] : nodes) {
    site(node).out.insert(site(node).out.end(), ids.begin(), ids.end());
    ++site(node).changes;
    touched_.push_back(node);
  }
  settle(move.node);
  for (const auto& [node, ids] : nodes) {
    if (node != move.node && gained < needed) {
      settle(node);
    } else if (position_[member_class][node.index()] != kNowhere) {
      room_[member_class].emplace(position_[member_class][node.index()], node);
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

// ---- who stays after all
// -------------------------------------------------------------------------

/// Sites as they were, to be put back.
struct EvictionSearch::Saved {
  std::map<sched::NodeId, Site> sites;
  std::int64_t quality = 0; ///< gained since, negative: lost
  Counts displaced;
};

/// Finds other room for the class's displaced members, one by one.
bool EvictionSearch::reseat(std::size_t member_class, Saved& saved) {
  std::int64_t& left = saved.displaced[member_class];
  auto& room = room_[member_class];
  for (auto it = room.begin(); left > 0 && it != room.end();) {
    Site& there = site(it->second);
    Counts wanted = there.members;
    ++wanted[member_class];
    Fit found = fit(it->second, {}, wanted);
    if (found.members != wanted) {
      ++it;
      continue;
    }
    saved.sites.emplace(it->second, there);
    saved.quality += found.quality - there.quality;
    there.members = std::move(found.members);
    there.quality = found.quality;
    --left;
  }
  return left == 0;
}

/// Do all members still have room, and GPU sets as good, when these stay? Then they do.
bool EvictionSearch::try_return(std::span<const VictimId> ids) {
  Saved saved{.sites = {}, .quality = 0, .displaced = Counts(classes_.size(), 0)};
  for (const auto& [node, staying] : by_node(ids)) {
    Site& here = site(node);
    saved.sites.emplace(node, here);
    std::erase_if(here.out, [&](VictimId id) { return std::ranges::find(ids, id) != ids.end(); });
    if (std::ranges::any_of(here.members, [](std::int64_t members) { return members > 0; })) {
      Fit found = fit(node, {}, here.members);
      for (std::size_t c = 0; c < classes_.size(); ++c) {
        saved.displaced[c] += here.members[c] - found.members[c];
      }
      saved.quality += found.quality - here.quality;
      here.members = std::move(found.members);
      here.quality = found.quality;
    }
  }
  bool all = true;
  for (std::size_t c = 0; all && c < classes_.size(); ++c) {
    all = saved.displaced[c] == 0 || reseat(c, saved);
  }
  if (!all || saved.quality < 0) {
    for (auto& [node, was] : saved.sites) {
      site(node) = std::move(was);
    }
    return false;
  }
  book_->give_back(ids);
  return true;
}

/// A group that has to lose no more members than it can spare loses only these.
void EvictionSearch::return_members_beyond_spare(std::size_t group) {
  const std::vector<Site> before = sites_;
  std::vector<VictimId> members = book_->groups()[group].members;
  std::ranges::stable_sort(members,
                           [&](VictimId a, VictimId b) { return book_->more_important(a, b); });
  std::vector<VictimId> returned;
  for (const VictimId id : members) {
    if (try_return({&id, 1})) {
      returned.push_back(id);
    }
  }
  if (book_->groups()[group].whole()) {
    book_->take(returned);
    sites_ = before;
  }
}

/// Everybody comes back whose room is not needed after all: whom budgets protect first, then by
/// priority, groups before pods.
void EvictionSearch::reprieve() {
  struct Unit {
    std::tuple<bool, std::int64_t, bool> key;
    std::vector<VictimId> ids;
    std::optional<std::size_t> group;
  };
  std::vector<Unit> units;
  std::set<std::size_t> whole;
  for (const VictimId id : book_->taken()) {
    const auto group = book_->victims()[id].group;
    if (!group || !book_->groups()[*group].whole()) {
      units.push_back(
          {{!book_->violates(id), -book_->victims()[id].placed.pod->priority, true}, {id}, {}});
    } else if (whole.insert(*group).second) {
      const VictimGroup& all = book_->groups()[*group];
      const bool violates =
          std::ranges::any_of(all.members, [&](VictimId one) { return book_->violates(one); });
      units.push_back({{!violates, -all.priority, false}, all.members, group});
    }
  }
  std::ranges::stable_sort(units, [&](const Unit& a, const Unit& b) {
    return a.key != b.key ? a.key < b.key : book_->more_important(a.ids.front(), b.ids.front());
  });
  for (const Unit& unit : units) {
    if (!try_return(unit.ids) && unit.group && book_->groups()[*unit.group].spare > 0) {
      return_members_beyond_spare(*unit.group);
    }
  }
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
