// What a preemption comes to, as a value: who gets which room, who goes for it, and why they.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "berth/gang/victim_book.h"

namespace berth::gang {

/// Pods that go together.
struct VictimUnit {
  api::Key group;                  ///< that goes whole; name "" for a single pod
  std::vector<sched::PodPtr> pods; ///< most important first; not empty
  std::vector<std::string> nodes;  ///< theirs, in the same order
  std::int64_t priority = 0;       ///< of the most important
  std::int64_t gpus = 0;
};

struct PreemptionPlan {
  struct Room {
    sched::PodPtr pod;
    std::string node;
  };
  std::vector<Room> rooms;       ///< where each member has room once the victims are gone
  std::vector<VictimUnit> units; ///< dearest first; none: pods that are leaving anyway make room
  EvictionCost cost;             ///< of all units
  std::size_t nodes_tried = 0;   ///< on which evicting somebody was looked at

  std::vector<sched::PodPtr> victims() const;
};

/// The victims of these ids as units, with their cost. Precondition: the book has not taken them.
PreemptionPlan plan_of(const VictimBook& book, const sched::ClusterState& state,
                       std::span<const VictimId> ids);

/// Pods of lower priority that are nominated to the plan's nodes, by uid. Of a group all members
/// are named, since it has to be placed anew as a whole.
std::vector<sched::PodPtr> losing_nomination(const sched::ClusterState& state, const Groups& groups,
                                             const PreemptionPlan& plan, std::int64_t priority);

/// One sentence for events and messages: who goes for whom, and why that set. `whom` as
/// "pod group \"default/g\"".
std::string sentence(const PreemptionPlan& plan, std::string_view whom);

} // namespace berth::gang
