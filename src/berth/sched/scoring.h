// Scoring the feasible nodes and choosing one (spec 1.3, 2.3): total = sum of normalised score
// times weight.
#pragma once

#include <span>

#include "berth/base/result.h"
#include "berth/base/rng.h"
#include "berth/sched/cycle.h"
#include "berth/sched/filter_session.h"

namespace berth::sched {

struct ScoreOptions {
  TieBreak tie_break = TieBreak::LowestIndex;
  Rng* rng = nullptr;
  std::span<const ExtenderTalk::Scores> extender_scores = {};
  DecisionTable* table = nullptr; ///< filled with scores if set
};

/// The node with the highest total; a single node is not scored. Error: a plugin failed or left [0,
/// 100]; its message names the plugin. Precondition: feasible is not empty.
Result<NodeId> choose_node(FilterSession& session, std::span<const NodeId> feasible,
                           const ScoreOptions& options);

/// Kubernetes' DefaultNormalizeScore: scales the highest raw score to 100; Reverse turns it round.
enum class NormalizeOrder { Forward, Reverse };
void normalize_by_max(std::span<std::int64_t> scores, NormalizeOrder order);

} // namespace berth::sched
