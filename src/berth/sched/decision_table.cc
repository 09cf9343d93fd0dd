#include "berth/sched/decision_table.h"

#include "berth/sched/filter_session.h"

namespace berth::sched {
namespace {

Status status_of(FilterSession& session, const NodeFailure& failure) {
  return {.code = failure.verdict.code,
          .reasons = session.reasons(failure),
          .plugin = std::string(session.plugin_of(failure))};
}

std::vector<DecisionTable::Shortfall> shortfalls(const PodInfo& pod, const NodeInfo& node) {
  std::vector<DecisionTable::Shortfall> out;
  for (const auto& [resource, asked] : pod.requests) {
    const std::int64_t free = node.allocatable.get(resource) - node.requested.get(resource);
    if (asked > free) {
      out.push_back({.resource = resource, .asked = asked, .free = free});
    }
  }
  return out;
}

void refuse(DecisionTable::NodeRow& row, FilterSession& session, const NodeFailure& failure) {
  row.status = status_of(session, failure);
  for (const NodeFailure& later : session.failures_after(failure)) {
    row.also.push_back(status_of(session, later));
  }
}

} // namespace

std::unique_ptr<DecisionTable> make_table(FilterSession& session,
                                          std::span<const NodeId> feasible) {
  auto table = std::make_unique<DecisionTable>();
  const ClusterState& state = session.state();
  std::vector<const NodeFailure*> failed(state.node_slots(), nullptr);
  std::vector<bool> fits(state.node_slots(), false);
  for (const NodeFailure& failure : session.failures) {
    failed[failure.node.index()] = &failure;
  }
  for (const NodeId node : feasible) {
    fits[node.index()] = true;
  }
  for (const NodeId node : state.nodes()) {
    DecisionTable::NodeRow row;
    row.node = node;
    if (const NodeFailure* failure = failed[node.index()]) {
      refuse(row, session, *failure);
    } else if (!fits[node.index()]) {
      row.looked_at = session.absent.has_value();
      row.status = session.absent.value_or(
          Status::of(StatusCode::Unresolvable,
                     "not looked at: the pod was nominated to another node, or enough others fit"));
    }
    if (!row.status.ok()) {
      row.short_of = shortfalls(*session.pod(), state.node(node));
    }
    table->rows.push_back(std::move(row));
  }
  return table;
}

} // namespace berth::sched
