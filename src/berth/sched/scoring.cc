#include "berth/sched/scoring.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "berth/base/assert.h"

namespace berth::sched {
namespace {

/// Rows of the table by position in `feasible`.
std::vector<DecisionTable::NodeRow*> rows_of(DecisionTable* table,
                                             std::span<const NodeId> feasible) {
  std::vector<DecisionTable::NodeRow*> rows;
  if (table != nullptr) {
    std::map<NodeId, DecisionTable::NodeRow*> by_node;
    for (DecisionTable::NodeRow& row : table->rows) {
      by_node.emplace(row.node, &row);
    }
    for (const NodeId node : feasible) {
      rows.push_back(by_node.at(node));
    }
  }
  return rows;
}

void add_extender(FilterSession& session, std::span<const NodeId> feasible,
                  const ExtenderTalk::Scores& extender, std::span<std::int64_t> totals,
                  std::span<DecisionTable::NodeRow* const> rows, DecisionTable* table) {
  for (std::size_t i = 0; i < feasible.size(); ++i) {
    const auto score = extender.raw.find(session.state().node_name(feasible[i]));
    const std::int64_t raw = score == extender.raw.end() ? 0 : score->second;
    totals[i] += raw * extender.factor;
    if (table != nullptr) {
      rows[i]->raw.push_back(raw);
      rows[i]->weighted.push_back(raw * extender.factor);
      rows[i]->total = totals[i];
    }
  }
  if (table != nullptr) {
    table->score_plugins.push_back(fmt::format(
        "{} {}", kExtenderPlugin, session.extenders->extender(extender.extender).url_prefix));
    table->weights.push_back(extender.factor);
  }
}

Result<NodeId> score_and_choose(FilterSession& session, std::span<const NodeId> feasible,
                                const ScoreOptions& options) {
  std::vector<std::int64_t> totals(feasible.size(), 0);
  std::vector<std::int64_t> scores(feasible.size(), 0);
  const auto rows = rows_of(options.table, feasible);
  for (ActiveRun& active : session.runs()) {
    if (!active.scores) {
      continue;
    }
    const auto& entry = session.framework().entries()[active.entry];
    if (const Status status = active.run->pre_score(feasible); status.code == StatusCode::Skip) {
      continue;
    } else if (!status.ok()) {
      return fail(Code::Internal, fmt::format("running PreScore plugin \"{}\": {}",
                                              entry.plugin->name(), status.message()));
    }
    for (std::size_t i = 0; i < feasible.size(); ++i) {
      scores[i] = active.run->score(feasible[i]);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i]->raw.push_back(scores[i]);
    }
    active.run->normalize(feasible, scores);
    for (std::size_t i = 0; i < feasible.size(); ++i) {
      if (scores[i] < 0 || scores[i] > kMaxNodeScore) {
        return fail(
            Code::Internal,
            fmt::format("plugin \"{}\" returns an invalid score {}, it should in the range of "
                        "[0, {}] after normalizing",
                        entry.plugin->name(), scores[i], kMaxNodeScore));
      }
      totals[i] += scores[i] * entry.weight;
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i]->weighted.push_back(scores[i] * entry.weight);
      rows[i]->total = totals[i];
    }
    if (options.table != nullptr) {
      options.table->score_plugins.emplace_back(entry.plugin->name());
      options.table->weights.push_back(entry.weight);
    }
  }
  for (const ExtenderTalk::Scores& extender : options.extender_scores) {
    add_extender(session, feasible, extender, totals, rows, options.table);
  }
  const std::int64_t best = *std::ranges::max_element(totals);
  std::uint64_t skip = 0;
  if (options.tie_break == TieBreak::Random) {
    BERTH_ASSERT(options.rng != nullptr, "random tie-breaking needs an Rng");
    skip = options.rng->below(static_cast<std::uint64_t>(std::ranges::count(totals, best)));
  }
  auto it = std::ranges::find(totals, best);
  for (; skip > 0; --skip) {
    it = std::find(it + 1, totals.end(), best);
  }
  return feasible[static_cast<std::size_t>(it - totals.begin())];
}

} // namespace

Result<NodeId> choose_node(FilterSession& session, std::span<const NodeId> feasible,
                           const ScoreOptions& options) {
  if (feasible.size() == 1) {
    return feasible.front();
  }
  return score_and_choose(session, feasible, options);
}

void normalize_by_max(std::span<std::int64_t> scores, NormalizeOrder order) {
  const std::int64_t highest = scores.empty() ? 0 : *std::ranges::max_element(scores);
  for (std::int64_t& score : scores) {
    if (highest != 0) {
      score = score * kMaxNodeScore / highest;
    }
    if (order == NormalizeOrder::Reverse) {
      score = kMaxNodeScore - score;
    }
  }
}

} // namespace berth::sched
