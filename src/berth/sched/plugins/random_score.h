// Random (Score, Reserve): one of the feasible nodes, each as likely as any other, and for a pod
// that shares one GPU any of those with room; RandomScore in Alibaba's files. The draw is a
// function of the seed and the pod's uid, so that a run repeats. State: cross-node.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <boost/json/value.hpp>

#include "berth/sched/plugin.h"

namespace berth::sched {

inline constexpr std::string_view kRandomScore = "Random";

struct RandomScoreArgs {
  std::int64_t seed = 0;
};
/// {"seed": 0 or more}; null or {}: 0. Errors name the field.
Result<RandomScoreArgs> parse_random_score_args(const boost::json::value& args);

std::unique_ptr<Plugin> make_random_score(RandomScoreArgs args);

} // namespace berth::sched
