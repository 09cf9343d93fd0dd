#include "berth/explain/attempt.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "berth/model/gpu_slices.h"
#include "berth/model/hami.h"

namespace berth::explain {
namespace {

std::string_view name_of(sched::Outcome outcome) {
  switch (outcome) {
  case sched::Outcome::Scheduled:
    return "Scheduled";
  case sched::Outcome::Waiting:
    return "Waiting";
  case sched::Outcome::Unschedulable:
    return "Unschedulable";
  case sched::Outcome::Error:
    return "Error";
  }
  return "";
}

Objection objection(const sched::Status& status) {
  return {.plugin = status.plugin,
          .code = std::string(to_string(status.code)),
          .reasons = status.reasons};
}

Row row_of(const sched::DecisionTable::NodeRow& node, const sched::DecisionTable& table) {
  Row row;
  row.best = table.best == node.node;
  row.verdict = node.status.ok() ? Verdict::Fits
                : node.looked_at ? Verdict::Refused
                                 : Verdict::NotLookedAt;
  if (!node.status.ok()) {
    row.objections.push_back(objection(node.status));
    std::ranges::transform(node.also, std::back_inserter(row.objections), &objection);
  }
  row.total = node.total;
  for (std::size_t i = 0; i < node.raw.size() && i < node.weighted.size(); ++i) {
    row.scores.push_back({.raw = node.raw[i], .weighted = node.weighted[i]});
  }
  return row;
}

/// Best first among fitting nodes; equal totals stay in the cluster's order.
bool shown_before(const Row& a, const Row& b) {
  if (a.verdict != b.verdict) {
    return a.verdict < b.verdict;
  }
  if (a.verdict == Verdict::Fits) {
    return std::tuple(b.best, b.total) < std::tuple(a.best, a.total);
  }
  // Nearest first: what one change alone would help.
  return std::tuple(a.objections.size(), -std::ssize(a.nodes)) <
         std::tuple(b.objections.size(), -std::ssize(b.nodes));
}

void keep_closest(std::vector<Shortage>& kept, const sched::DecisionTable::NodeRow& node,
                  const sched::ClusterState& state) {
  for (const auto& lack : node.short_of) {
    const std::string& resource = state.resource_names().name(lack.resource);
    const auto it = std::ranges::find(kept, resource, &Shortage::resource);
    if (it == kept.end()) {
      kept.push_back({.resource = resource,
                      .asked = lack.asked,
                      .free = lack.free,
                      .node = state.node_name(node.node)});
    } else if (lack.free > it->free) {
      it->free = lack.free;
      it->node = state.node_name(node.node);
    }
  }
}

/// Nodes that share a verdict and its scores are one row.
std::vector<Row> grouped(const sched::DecisionTable& table, const sched::ClusterState& state) {
  using Key = std::tuple<Verdict, bool, std::vector<Objection>, std::int64_t, std::vector<Score>>;
  std::map<Key, std::size_t> known;
  std::vector<Row> rows;
  for (const auto& node : table.rows) {
    Row row = row_of(node, table);
    const auto [it, is_new] = known.try_emplace(
        Key(row.verdict, row.best, row.objections, row.total, row.scores), rows.size());
    if (is_new) {
      rows.push_back(std::move(row));
    }
    Row& shared = rows[it->second];
    shared.nodes.push_back(state.node_name(node.node));
    keep_closest(shared.shortages, node, state);
  }
  std::ranges::stable_sort(rows, shown_before);
  return rows;
}

} // namespace

Attempt make_attempt(const sched::QueuedPod& queued, const sched::Decision& decision,
                     const sched::ClusterState& state, std::string_view profile, TimePoint now) {
  const model::Pod& pod = *queued.pod->pod;
  Attempt attempt{.ns = pod.meta.ns,
                  .pod = pod.meta.name,
                  .group = std::string(pod.pod_group()),
                  .profile = std::string(profile),
                  .number = queued.attempts,
                  .at = now,
                  .first = queued.initial_attempt,
                  .woken_by = std::string(queued.woken_by),
                  .outcome = std::string(name_of(decision.outcome)),
                  .message = decision.message,
                  .nominated_node = decision.nominated_node,
                  .nodes = static_cast<std::int64_t>(state.nodes().size()),
                  .feasible = decision.feasible_nodes};
  if (const api::OwnerReference* owner = pod.meta.controller()) {
    attempt.owner = fmt::format("{}/{}", owner->kind, owner->name);
  }
  if (decision.placed()) {
    attempt.node = decision.node_name;
  }
  for (int gpu = 0; gpu < sched::kMaxGpus; ++gpu) {
    if ((decision.gpus >> gpu & 1U) != 0) {
      attempt.gpus.push_back(gpu);
    }
  }
  const auto annotation = [&](std::string_view key) {
    const auto it = decision.annotations.find(std::string(key));
    return it == decision.annotations.end() ? std::string() : it->second;
  };
  attempt.slices = annotation(model::kGpuSlicesAnnotation);
  attempt.vgpus = annotation(model::hami::kAllocated);
  for (const sched::PodPtr& victim : decision.victims) {
    attempt.victims.push_back(fmt::format("{}/{}", victim->ns(), victim->name()));
  }
  for (const auto& [plugin, timeout] : decision.waits) {
    attempt.waits_for.push_back(plugin);
  }
  if (decision.table != nullptr) {
    for (std::size_t i = 0; i < decision.table->score_plugins.size(); ++i) {
      attempt.scorers.push_back(
          {.plugin = decision.table->score_plugins[i], .weight = decision.table->weights[i]});
    }
    attempt.rows = grouped(*decision.table, state);
  }
  return attempt;
}

} // namespace berth::explain
