// Whole clusters with faults, by seed. BERTH_CHAOS_SEEDS changes how many (500 by default); each
// shard of ctest runs a part.
#include "berth/sim/chaos.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace berth::sim {
namespace {

constexpr int kShards = 10;

int seeds() {
  const char* given = std::getenv("BERTH_CHAOS_SEEDS");
  return given == nullptr ? 500 : std::atoi(given);
}

class ChaosTest : public testing::TestWithParam<int> {};

TEST_P(ChaosTest, InvariantsHoldAfterEveryEvent) {
  for (int seed = GetParam(); seed < seeds(); seed += kShards) {
    const ChaosReport report = run_chaos(static_cast<std::uint64_t>(seed));
    ASSERT_TRUE(report.ok()) << to_string(report);
    EXPECT_GT(report.events, 100U) << to_string(report);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ChaosTest, testing::Range(0, kShards),
                         testing::PrintToStringParamName());

TEST(ChaosTest, EqualSeedsGiveEqualRuns) {
  for (const std::uint64_t seed : {3U, 14U, 159U}) {
    const ChaosReport first = run_chaos(seed);
    const ChaosReport second = run_chaos(seed);
    EXPECT_EQ(first.digest, second.digest) << to_string(first);
    EXPECT_EQ(first.events, second.events);
  }
}

TEST(ChaosTest, SeedsDiffer) {
  EXPECT_NE(run_chaos(1).digest, run_chaos(2).digest);
}

} // namespace
} // namespace berth::sim
