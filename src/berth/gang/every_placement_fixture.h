// Every placement of a group on a small cluster: all orders of deciding the members, all nodes for
// each, one full scheduling cycle at a time. What place_group is held to.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "berth/gang/choose_domain.h"
#include "berth/gang/place_group.h"
#include "berth/gang/spread_levels.h"

namespace berth::gang {

/// Units used at each level, from the widest.
using Counts = std::vector<std::size_t>;

/// All ways to place the members, one decision at a time.
class EveryPlacement {
 public:
  EveryPlacement(sched::Framework& framework, sched::ClusterState& state,
                 const GroupRequest& request)
      : framework_(&framework), state_(&state), request_(&request),
        topology_(topology_for(state, request.pending)),
        levels_(topology_.tree, state.node_slots(), topology_.required_key) {
    placed_.resize(request.pending.size());
    explore(0);
  }

  /// Most members that can be placed at once.
  std::int64_t most() const { return most_; }
  /// Of the placements of all members.
  const std::optional<Counts>& least() const { return least_; }

  Counts spread_of(const std::vector<sched::NodeId>& nodes) const {
    Counts counts;
    for (std::size_t level = 0; level < levels_.depth(); ++level) {
      std::set<std::uint32_t> units;
      for (const sched::NodeId node : nodes) {
        units.insert(levels_.unit(level, node));
      }
      counts.push_back(units.size());
    }
    return counts;
  }
  bool allowed(const std::vector<sched::NodeId>& nodes) const {
    return topology_.required_key.empty() ||
           (spread_of(nodes).front() <= 1 && std::ranges::none_of(nodes, [&](sched::NodeId node) {
              return levels_.unit(0, node) == SpreadLevels::kNowhere;
            }));
  }

 private:
  void explore(std::int64_t placed) {
    if (!seen_.insert(picture()).second) {
      return;
    }
    std::vector<sched::NodeId> nodes = request_->placed_on;
    for (const auto& node : placed_) {
      if (node) {
        nodes.push_back(*node);
      }
    }
    if (!allowed(nodes)) {
      return;
    }
    most_ = std::max(most_, placed);
    if (placed == std::ssize(placed_)) {
      const Counts counts = spread_of(nodes);
      least_ = least_ ? std::min(*least_, counts) : counts;
      return;
    }
    for (std::size_t member = 0; member < placed_.size(); ++member) {
      for (std::size_t i = 0; !placed_[member] && i < state_->nodes().size(); ++i) {
        const sched::NodeId node = state_->nodes()[i];
        const sched::PodPtr& pod = request_->pending[member];
        const sched::Decision decision =
            schedule_one(*framework_, *state_, pod,
                         {.post_filter = sched::PostFilters::Skip,
                          .only = std::span<const sched::NodeId>(&node, 1)});
        if (decision.placed()) {
          placed_[member] = node;
          explore(placed + 1);
          placed_[member] = std::nullopt;
          undo_decision(*framework_, *state_, pod, node);
        }
      }
    }
  }

  /// Who is where, but for the names of members that are alike.
  std::string picture() const {
    std::map<std::string, std::multiset<std::uint32_t>> by_kind;
    for (std::size_t member = 0; member < placed_.size(); ++member) {
      const sched::PodInfo& pod = *request_->pending[member];
      std::string kind = std::to_string(pod.shape.index());
      for (const auto& [key, value] : pod.pod->meta.labels) {
        kind += fmt::format(" {}={}", key, value);
      }
      by_kind[kind].insert(placed_[member] ? placed_[member]->index() + 1 : 0);
    }
    return testing::PrintToString(by_kind);
  }

  sched::Framework* framework_;
  sched::ClusterState* state_;
  const GroupRequest* request_;
  GroupTopology topology_;
  SpreadLevels levels_;
  std::vector<std::optional<sched::NodeId>> placed_;
  std::set<std::string> seen_;
  std::int64_t most_ = 0;
  std::optional<Counts> least_;
};

} // namespace berth::gang
