// EvictionSearch at its end: who stays after all.
#include <algorithm>
#include <tuple>

#include "berth/gang/eviction_search.h"

namespace berth::gang {

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
      // Room only gets less while victims return.
      it = saved.sites.contains(it->second) ? std::next(it) : room.erase(it);
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
  const bool none_elsewhere =
      std::ranges::all_of(room_, [](const auto& room) { return room.empty(); });
  if (none_elsewhere && ids.size() == 1 && site(book_->victims()[ids[0]].placed.node).settled) {
    return false;
  }
  Saved saved{.sites = {}, .quality = 0, .displaced = Counts(classes_.size(), 0)};
  for (const auto& [node, staying] : by_node(ids)) {
    Site& here = site(node);
    saved.sites.emplace(node, here);
    std::erase_if(here.out,
                  [&](VictimId id) { return std::ranges::find(staying, id) != staying.end(); });
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

} // namespace berth::gang
