// EvictionSearch on one node: what fits there, and the smallest set of victims that lets one more
// member in.
#include <algorithm>
#include <bit>
#include <tuple>

#include "berth/gang/eviction_search.h"
#include "berth/hardware/bandwidth.h"
#include "berth/sched/open_gpus.h"

namespace berth::gang {

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

/// GPUs of the node that are open beside the members that have room there; none where that is not
/// known one by one.
std::optional<hardware::GpuMask> EvictionSearch::open_on(sched::NodeId node) {
  const sched::NodeInfo& info = state().node(node);
  if (!chooses_gpus_ || info.platform == nullptr || info.gpus.all == 0) {
    return std::nullopt;
  }
  sched::NodeTrial trial(sessions_, node);
  take_out(trial, site(node).out);
  Fit seated{.members = Counts(classes_.size(), 0), .quality = 0};
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    seat(trial, node, c, 0, site(node).members[c], seated);
  }
  return info.gpus.unplaced > 0 ? std::nullopt : std::optional(sched::open_gpus(state(), info));
}

/// Another set of victims than `set` if the GPUs that it frees, with those that are open, hold a
/// better one for the member, and it violates no more budgets.
std::vector<VictimId> EvictionSearch::with_better_gpus(std::size_t member_class, sched::NodeId node,
                                                       const std::vector<VictimId>& removable,
                                                       std::vector<VictimId> set) {
  const std::int64_t gpus = classes_[member_class].pods.front()->gpus;
  std::vector<VictimId> holders;
  std::ranges::copy_if(removable, std::back_inserter(holders),
                       [&](VictimId id) { return book_->victims()[id].placed.gpus != 0; });
  if (gpus < 2 || holders.size() > kMostHolders) {
    return set;
  }
  const auto open = open_on(node);
  if (!open) {
    return set;
  }
  const auto quality = [&](std::span<const VictimId> going) {
    hardware::GpuMask freed = *open;
    for (const VictimId id : going) {
      freed |= book_->victims()[id].placed.gpus;
    }
    return best_of(state().node(node), freed, gpus).all_reduce;
  };
  const std::int64_t reached = quality(set);
  if (reached == quality(holders)) {
    return set;
  }
  const std::int64_t allowed = book_->cost(set).violations;
  struct Choice {
    std::tuple<std::int64_t, std::int64_t, EvictionCost> key;
    std::set<VictimId> go;
  };
  std::vector<Choice> choices;
  for (std::uint32_t subset = 1; subset < (1U << holders.size()); ++subset) {
    std::vector<VictimId> going;
    for (std::size_t i = 0; i < holders.size(); ++i) {
      if ((subset >> i & 1U) != 0) {
        going.push_back(holders[i]);
      }
    }
    const std::int64_t better = quality(going);
    const EvictionCost cost = book_->cost(going);
    if (better > reached && cost.violations <= allowed) {
      choices.push_back({{cost.violations, -better, cost}, {going.begin(), going.end()}});
    }
  }
  std::ranges::stable_sort(choices, {}, &Choice::key);
  for (const Choice& choice : choices) {
    std::set<VictimId> stay;
    std::ranges::copy_if(holders, std::inserter(stay, stay.end()),
                         [&](VictimId id) { return !choice.go.contains(id); });
    auto other = reprieved(member_class, node, removable, choice.go, stay);
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
  if (set->size() == removable.size()) {
    return set; // nobody else could go
  }
  return with_better_gpus(member_class, node, removable, *std::move(set));
}

} // namespace berth::gang
