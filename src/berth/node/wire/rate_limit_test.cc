#include "berth/node/wire/rate_limit.h"

#include <gtest/gtest.h>

namespace berth::node {
namespace {

int taken(RateLimit& limit, TimePoint at, int tries = 1000) {
  int count = 0;
  for (int i = 0; i < tries; ++i) {
    count += limit.take(at) ? 1 : 0;
  }
  return count;
}

TEST(RateLimit, AllowsABurstAndThenASteadyRate) {
  RateLimit limit(100, 10);
  TimePoint now = TimePoint::from_unix_seconds(1000);
  EXPECT_EQ(taken(limit, now), 10);
  EXPECT_EQ(taken(limit, now + Duration::millis(9)), 0);
  EXPECT_EQ(taken(limit, now + Duration::millis(10)), 1);
  EXPECT_EQ(taken(limit, now + Duration::millis(35)), 2);
  EXPECT_EQ(taken(limit, now + Duration::millis(40)), 1) << "what is left over counts";
  EXPECT_EQ(taken(limit, now + Duration::hours(1'000'000)), 10);
}

} // namespace
} // namespace berth::node
