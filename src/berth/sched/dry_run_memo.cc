#include "berth/sched/dry_run_memo.h"

#include <algorithm>

namespace berth::sched {
namespace {

/// Would the same pods be as important to each other at any later time? Those that have not started
/// count as starting now.
bool order_is_settled(const ClusterState& state, NodeId node, TimePoint now) {
  return std::ranges::all_of(state.node(node).pods, [&](PodSlot slot) {
    return state.placed(slot).pod->pod->status.start_time.value_or(now) <= now;
  });
}

} // namespace

void DryRunMemo::open(FilterSession& session, const VictimRule& rule) {
  rule_ = &rule;
  applies_ =
      rule.is_of_the_shape() && std::ranges::all_of(session.runs(), [](const ActiveRun& active) {
        return !active.filters || active.run->reach() == Reach::Node;
      });
  if (!applies_) {
    return;
  }
  const bool same_plugins = std::ranges::equal(plugins_, session.runs(), {}, {}, &ActiveRun::entry);
  if (!same_plugins || budgets_ != session.state().budget_version()) {
    entries_.clear();
    plugins_.clear();
    std::ranges::transform(session.runs(), std::back_inserter(plugins_), &ActiveRun::entry);
    budgets_ = session.state().budget_version();
  }
  entries_.resize(std::max(entries_.size(), session.state().node_slots()));
}

const DryRun& DryRunMemo::run(FilterSession& session, NodeId node) {
  const ClusterState& state = session.state();
  if (state.node(node).nominated > 0 || !applies_) {
    scratch_ = select_victims(session, node, *rule_);
    return scratch_;
  }
  Entry& entry = entries_[node.index()];
  if (entry.generation != state.node(node).generation || entry.now > session.now()) {
    entry.result = select_victims(session, node, *rule_);
    const bool keep = order_is_settled(state, node, session.now());
    entry.generation = keep ? state.node(node).generation : 0;
    entry.now = session.now();
  }
  return entry.result;
}

} // namespace berth::sched
