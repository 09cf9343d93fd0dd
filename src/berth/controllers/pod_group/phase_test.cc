#include "berth/controllers/pod_group/phase.h"

#include <gtest/gtest.h>

namespace berth::controllers {
namespace {

const TimePoint kNow = TimePoint::from_unix_seconds(1'700'000'000) + Duration::millis(700);

struct PhaseCase {
  const char* name;
  const char* stored;
  std::int64_t min_member;
  GroupCounts counts;
  const char* want;
};

class GroupPhase : public testing::TestWithParam<PhaseCase> {};

TEST_P(GroupPhase, FollowsTheMembers) {
  const PhaseCase& c = GetParam();
  GroupInput input{.stored = {}, .min_member = c.min_member, .counts = c.counts, .owner = ""};
  input.stored.phase = c.stored;
  EXPECT_EQ(next_group_status(input, kNow).phase, c.want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, GroupPhase,
    testing::Values(
        PhaseCase{"no_members", "", 3, {}, "Pending"},
        PhaseCase{"too_few_members", "", 3, {.pods = 2, .running = 2}, "Pending"},
        PhaseCase{"enough_members", "Pending", 3, {.pods = 3}, "Scheduling"},
        PhaseCase{"some_run", "Scheduling", 3, {.pods = 3, .running = 2}, "Scheduling"},
        PhaseCase{"enough_run", "Scheduling", 3, {.pods = 4, .running = 3}, "Running"},
        PhaseCase{
            "ended_ones_count", "Running", 3, {.pods = 3, .running = 1, .succeeded = 2}, "Running"},
        PhaseCase{"enough_succeeded",
                  "Running",
                  3,
                  {.pods = 4, .running = 1, .succeeded = 3},
                  "Finished"},
        PhaseCase{"one_failed", "Running", 3, {.pods = 3, .running = 2, .failed = 1}, "Failed"},
        PhaseCase{"one_failed_before_the_others_ran",
                  "Scheduling",
                  3,
                  {.pods = 3, .running = 1, .failed = 1},
                  "Scheduling"},
        PhaseCase{"members_went_away", "Running", 3, {.pods = 1, .running = 1}, "Pending"},
        PhaseCase{"failed_stays", "Failed", 3, {.pods = 3, .running = 3}, "Failed"},
        PhaseCase{"failed_stays_without_members", "Failed", 3, {}, "Failed"},
        PhaseCase{"failed_gives_way_to_finished",
                  "Failed",
                  2,
                  {.pods = 3, .succeeded = 2, .failed = 1},
                  "Finished"},
        PhaseCase{"finished_is_final", "Finished", 3, {}, "Finished"}),
    [](const auto& c) { return c.param.name; });

TEST(GroupStatusTest, CountsOwnerAndStart) {
  GroupInput input{.stored = {},
                   .min_member = 1,
                   .counts = {.pods = 3, .running = 1, .failed = 0},
                   .owner = "ml/job"};
  const GroupStatus first = next_group_status(input, kNow);
  EXPECT_EQ(first.running, 1);
  EXPECT_EQ(first.occupied_by, "ml/job");
  EXPECT_EQ(first.schedule_start_time, TimePoint::from_unix_seconds(1'700'000'000))
      << "as a timestamp can say it, so that reading it back is no change";
  input.stored = first;
  input.owner = "ml/other";
  EXPECT_EQ(next_group_status(input, kNow + Duration::hours(1)), first) << "nothing new to write";
}

TEST(GroupStatusTest, AnotherAttemptHasItsOwnStart) {
  GroupInput input{.stored = {}, .min_member = 2, .counts = {.pods = 2}, .owner = ""};
  input.stored = next_group_status(input, kNow);
  ASSERT_TRUE(input.stored.schedule_start_time.has_value());
  input.counts = {.pods = 1};
  input.stored = next_group_status(input, kNow);
  EXPECT_FALSE(input.stored.schedule_start_time.has_value());
  input.counts = {.pods = 2};
  EXPECT_EQ(next_group_status(input, kNow + Duration::seconds(5)).schedule_start_time,
            TimePoint::from_unix_seconds(1'700'000'005));
}

TEST(GroupStatusTest, AFinishedGroupKeepsItsCounts) {
  GroupInput input{.stored = {}, .min_member = 2, .counts = {}, .owner = ""};
  input.stored.phase = "Finished";
  input.stored.succeeded = 2;
  EXPECT_EQ(next_group_status(input, kNow), input.stored) << "its pods may be cleaned up";
}

} // namespace
} // namespace berth::controllers
