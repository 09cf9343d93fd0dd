#include "berth/controllers/job/backoff.h"

#include <gtest/gtest.h>

namespace berth::controllers {
namespace {

TimePoint at(std::int64_t seconds) {
  return TimePoint::from_unix_seconds(1000 + seconds);
}

PodFact ended(const char* uid, PodFact::Phase phase, std::int64_t seconds) {
  PodFact fact;
  fact.uid = uid;
  fact.phase = phase;
  fact.finished_at = at(seconds);
  fact.tracked = true;
  return fact;
}

struct DelayCase {
  std::int64_t failures;
  std::int64_t seconds;
};

class JobBackoff : public testing::TestWithParam<DelayCase> {};

TEST_P(JobBackoff, DoublesUpToTenMinutes) {
  EXPECT_EQ(job_backoff(GetParam().failures), Duration::seconds(GetParam().seconds));
}

INSTANTIATE_TEST_SUITE_P(Table, JobBackoff,
                         testing::Values(DelayCase{-1, 0}, DelayCase{0, 0}, DelayCase{1, 10},
                                         DelayCase{2, 20}, DelayCase{3, 40}, DelayCase{6, 320},
                                         DelayCase{7, 600}, DelayCase{8, 600},
                                         DelayCase{1'000'000, 600}),
                         [](const auto& test) {
                           return test.param.failures < 0
                                      ? "negative"
                                      : "failures_" + std::to_string(test.param.failures);
                         });

TEST(BackoffRecord, SeeingAPodAgainChangesNothing) {
  BackoffRecord record;
  record.observe(ended("a", PodFact::Phase::Failed, 0));
  record.observe(ended("a", PodFact::Phase::Failed, 0));
  EXPECT_EQ(record.failures(), 1);
  EXPECT_EQ(record.blocked_until(at(0)), at(10));
  EXPECT_EQ(record.blocked_until(at(10)), std::nullopt);
}

TEST(BackoffRecord, ASuccessForgetsEarlierFailuresInAnyOrder) {
  for (const bool success_first : {false, true}) {
    BackoffRecord record;
    if (success_first) {
      record.observe(ended("s", PodFact::Phase::Succeeded, 5));
    }
    record.observe(ended("early", PodFact::Phase::Failed, 1));
    record.observe(ended("late", PodFact::Phase::Failed, 9));
    if (!success_first) {
      record.observe(ended("s", PodFact::Phase::Succeeded, 5));
    }
    EXPECT_EQ(record.failures(), 1);
    EXPECT_EQ(record.blocked_until(at(9)), at(19));
  }
}

TEST(BackoffRecord, ADeletedPodFailsUnlessTheJobRemovedIt) {
  PodFact deleted = ended("a", PodFact::Phase::Running, 0);
  deleted.deleting = true;
  PodFact removed = ended("b", PodFact::Phase::Failed, 0);
  removed.deleting = true;
  removed.tracked = false;
  BackoffRecord record;
  record.observe(removed);
  EXPECT_EQ(record.failures(), 0);
  record.observe(deleted);
  EXPECT_EQ(record.failures(), 1);
}

TEST(BackoffRecord, RunningPodsAreNoFailures) {
  BackoffRecord record;
  record.observe(ended("a", PodFact::Phase::Running, 0));
  record.observe(ended("b", PodFact::Phase::Pending, 0));
  EXPECT_EQ(record.failures(), 0);
  EXPECT_EQ(record.blocked_until(at(0)), std::nullopt);
}

} // namespace
} // namespace berth::controllers
