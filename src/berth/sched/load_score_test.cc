// Trimaran's formulas on numbers worked out by hand.
#include "berth/sched/load_score.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::sched {
namespace {

TEST(PackingScore, RisesToTheTargetAndFallsBeyondIt) {
  EXPECT_EQ(packing_score(0, 40), 40);
  EXPECT_EQ(packing_score(20, 40), 70); // 60 * 20 / 40 + 40
  EXPECT_EQ(packing_score(40, 40), 100);
  EXPECT_EQ(packing_score(41, 40), 39); // 40 * 59 / 60 = 39.3
  EXPECT_EQ(packing_score(70, 40), 20); // 40 * 30 / 60
  EXPECT_EQ(packing_score(100, 40), 0);
  EXPECT_EQ(packing_score(101, 40), 0);
  EXPECT_EQ(packing_score(50, 80), 93); // 20 * 50 / 80 + 80 = 92.5, away from zero
}

TEST(VariationScore, IsTheMeanOfLoadAndDeviationTurnedRound) {
  // mu = (40 + 10) / 100, sigma = 0.2.
  EXPECT_DOUBLE_EQ(
      variation_score({.capacity = 100, .asked = 10, .used = 40, .used_deviation = 20}, 1, 1), 65);
  EXPECT_DOUBLE_EQ(
      variation_score({.capacity = 100, .asked = 10, .used = 40, .used_deviation = 20}, 2, 1), 55)
      << "margin 2: sigma 0.4";
  EXPECT_DOUBLE_EQ(
      variation_score({.capacity = 100, .asked = 10, .used = 40, .used_deviation = 25}, 1, 2), 50)
      << "sensitivity 2: the root of 0.25";
  EXPECT_DOUBLE_EQ(
      variation_score({.capacity = 100, .asked = 90, .used = 40, .used_deviation = 200}, 1, 1), 0)
      << "each is cut to 1";
  EXPECT_DOUBLE_EQ(variation_score({.capacity = 0}, 1, 1), 0);
}

/// 10 of capacity, half of it requested before the pod.
Commitment half_requested(double limits) {
  return {.capacity = 10,
          .requests = 6,
          .limits = limits,
          .requests_before = 5,
          .limits_before = limits - 1};
}

TEST(OverCommitmentRisk, ByLimitsIsWhatTheyExceedTheNode) {
  const OverCommitmentOptions limits_alone{.window = 5, .limit_weight = 1};
  const auto risk = [&](double limits) {
    return over_commitment_risk(half_requested(limits), {.capacity = 10}, Measured::No,
                                limits_alone);
  };
  EXPECT_DOUBLE_EQ(risk(8), 0);
  EXPECT_DOUBLE_EQ(risk(10), 0);
  EXPECT_DOUBLE_EQ(risk(14), 0.5); // (14 - 10) / (14 - 6)
  EXPECT_DOUBLE_EQ(risk(16), 0.6); // 6 / 10
}

TEST(OverCommitmentRisk, ByLoadIsTheChanceToExceedTheRequests) {
  const OverCommitmentOptions load_alone{.window = 1, .limit_weight = 0};
  const auto risk = [&](double used, double deviation, double limits = 20) {
    return over_commitment_risk(half_requested(limits),
                                {.capacity = 10, .used = used, .used_deviation = deviation},
                                Measured::Yes, load_alone);
  };
  EXPECT_DOUBLE_EQ(risk(4, 0), 0) << "steady, within the requests";
  EXPECT_DOUBLE_EQ(risk(6, 0), 1) << "steady, beyond them";
  EXPECT_DOUBLE_EQ(risk(0, 0), 0);
  // Mean 1/2, variance 1/12: the uniform distribution (alpha = beta = 1), half of it above 5.
  EXPECT_NEAR(risk(5, 10 / std::sqrt(12.0)), 0.5, 1e-12);
  // The same, given that it is below the limits of 9 (without the pod): 1 - 0.5 / 0.9.
  EXPECT_NEAR(risk(5, 10 / std::sqrt(12.0), 10), 1 - 0.5 / 0.9, 1e-12);
}

TEST(OverCommitmentRisk, TheWindowWidensTheDeviation) {
  // 10 / sqrt(12) again, from a deviation smoothed over 4.
  EXPECT_NEAR(
      over_commitment_risk(half_requested(20),
                           {.capacity = 10, .used = 5, .used_deviation = 10 / std::sqrt(12.0) / 2},
                           Measured::Yes, {.window = 4, .limit_weight = 0}),
      0.5, 1e-12);
}

TEST(OverCommitmentRisk, IsTheWeightedSum) {
  EXPECT_DOUBLE_EQ(over_commitment_risk(half_requested(14),
                                        {.capacity = 10, .used = 6, .used_deviation = 0},
                                        Measured::Yes, {.window = 5, .limit_weight = 0.5}),
                   0.5 * 0.5 + 0.5 * 1);
}

} // namespace
} // namespace berth::sched
