#include "berth/model/cron_schedule.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::model {
namespace {

std::string next(const char* schedule, const char* after, const char* zone = "UTC") {
  const TimeZone in = *TimeZone::load(zone);
  const auto parsed = CronSchedule::parse(schedule);
  if (!parsed) {
    return parsed.error().message;
  }
  const auto time = parsed->next(*parse_rfc3339(after), in);
  return time ? in.to_rfc3339(*time) : "never";
}

TEST(CronSchedule, FindsTheNextTime) {
  const char* noon = "2026-07-09T14:45:10Z"; // a Thursday
  EXPECT_EQ(next("* * * * *", noon), "2026-07-09T14:46:00Z");
  EXPECT_EQ(next("0/15 * * * *", "2026-07-09T14:45:00Z"), "2026-07-09T15:00:00Z");
  EXPECT_EQ(next("20-35/15 * * * *", noon), "2026-07-09T15:20:00Z");
  EXPECT_EQ(next("5,50 14 * * ?", noon), "2026-07-09T14:50:00Z");
  EXPECT_EQ(next("30 3 1 jan *", noon), "2027-01-01T03:30:00Z");
  EXPECT_EQ(next("0 0 29 2 *", noon), "2028-02-29T00:00:00Z");
  EXPECT_EQ(next("0 0 31 2 *", noon), "never");
  EXPECT_EQ(next("0 9 * * MON-fri", "2026-07-10T10:00:00Z"), "2026-07-13T09:00:00Z");
  EXPECT_EQ(next("59 23 31 12 *", "2026-12-31T23:59:00Z"), "2027-12-31T23:59:00Z");
}

TEST(CronSchedule, DaysOfMonthAndWeekAddUpUnlessOneIsAny) {
  EXPECT_EQ(next("0 0 15 * sun", "2026-07-09T00:00:00Z"), "2026-07-12T00:00:00Z");
  EXPECT_EQ(next("0 0 * * sun", "2026-07-12T00:00:00Z"), "2026-07-19T00:00:00Z");
  EXPECT_EQ(next("0 0 */2 * sun", "2026-07-12T00:00:00Z"), "2026-07-13T00:00:00Z");
}

TEST(CronSchedule, KnowsDescriptors) {
  EXPECT_EQ(next("@hourly", "2026-07-09T14:45:10Z"), "2026-07-09T15:00:00Z");
  EXPECT_EQ(next("@daily", "2026-07-09T14:45:10Z"), "2026-07-10T00:00:00Z");
  EXPECT_EQ(next("@weekly", "2026-07-09T14:45:10Z"), "2026-07-12T00:00:00Z");
  EXPECT_EQ(next("@yearly", "2026-07-09T14:45:10Z"), "2027-01-01T00:00:00Z");
  EXPECT_EQ(next("@every 1h30m", "2026-07-09T14:45:10Z"), "2026-07-09T16:15:10Z");
}

TEST(CronSchedule, FollowsTheClocksOfAPlace) {
  EXPECT_EQ(next("0 9 * * *", "2026-03-28T12:00:00Z", "Europe/Berlin"),
            "2026-03-29T09:00:00+02:00");
  EXPECT_EQ(next("30 2 * * *", "2026-03-28T12:00:00Z", "Europe/Berlin"),
            "2026-03-30T02:30:00+02:00")
      << "there is no such time on the day that clocks leap";
  EXPECT_EQ(next("0 0 * * *", "2026-07-09T12:00:00Z", "Asia/Kolkata"), "2026-07-10T00:00:00+05:30");
}

struct Wrong {
  const char* schedule;
  const char* message;
};
class WrongSchedules : public testing::TestWithParam<Wrong> {};

TEST_P(WrongSchedules, SayWhatIsWrong) {
  const auto parsed = CronSchedule::parse(GetParam().schedule);
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongSchedules,
    testing::Values(
        Wrong{"", "empty spec string"},
        Wrong{"* * *", "expected exactly 5 fields, found 3: [* * *]"},
        Wrong{"60 * * * *", "end of range (60) above maximum (59): 60"},
        Wrong{"* * 0 * *", "beginning of range (0) below minimum (1): 0"},
        Wrong{"* 5-3 * * *", "beginning of range (5) beyond end of range (3): 5-3"},
        Wrong{"*/0 * * * *", "step of range should be a positive number: */0"},
        Wrong{"1-2-3 * * * *", "too many hyphens: 1-2-3"},
        Wrong{"1/2/3 * * * *", "too many slashes: 1/2/3"},
        Wrong{"a * * * *",
              "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax"},
        Wrong{"@often", "unrecognized descriptor: @often"},
        Wrong{"* * * * 7", "end of range (7) above maximum (6): 7"},
        Wrong{"@every x", "failed to parse duration @every x: time: invalid duration \"x\""}));

} // namespace
} // namespace berth::model
