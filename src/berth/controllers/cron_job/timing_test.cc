#include "berth/controllers/cron_job/timing.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::controllers {
namespace {

TimePoint at(const char* text) {
  return *parse_rfc3339(text);
}

struct Asked {
  const char* schedule;
  const char* since;
  const char* now;
  std::optional<Duration> deadline = {};
};

std::string due(const Asked& asked) {
  const auto schedule = *model::CronSchedule::parse(asked.schedule);
  const TimeZone zone;
  const CronAnswer answer = due_run({.schedule = schedule,
                                     .zone = zone,
                                     .since = at(asked.since),
                                     .deadline = asked.deadline,
                                     .now = at(asked.now)});
  return (answer.due ? to_rfc3339(*answer.due) : "none") + (answer.missed_many ? " many" : "");
}

TEST(CronTiming, NothingIsDueBeforeItsTime) {
  EXPECT_EQ(due({"0 * * * *", "2026-01-01T10:00:00Z", "2026-01-01T10:59:59Z"}), "none");
}

TEST(CronTiming, TheLatestMissedRunIsDue) {
  EXPECT_EQ(due({"0 * * * *", "2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z"}),
            "2026-01-01T11:00:00Z");
  EXPECT_EQ(due({"0 * * * *", "2026-01-01T10:00:00Z", "2026-01-01T15:30:00Z"}),
            "2026-01-01T15:00:00Z");
  EXPECT_EQ(due({"30 6-16/4 * * 1-5", "2026-01-01T07:00:00Z", "2026-01-05T11:00:00Z"}),
            "2026-01-05T10:30:00Z");
}

TEST(CronTiming, MoreThanAHundredAreMany) {
  EXPECT_EQ(due({"* * * * *", "2026-01-01T10:00:00Z", "2026-01-03T10:00:30Z"}),
            "2026-01-03T10:00:00Z many");
}

TEST(CronTiming, ADeadlineForgetsWhatIsOlder) {
  EXPECT_EQ(
      due({"0 * * * *", "2026-01-01T10:00:00Z", "2026-01-01T15:30:00Z", Duration::minutes(10)}),
      "none");
  EXPECT_EQ(
      due({"* * * * *", "2026-01-01T10:00:00Z", "2026-01-03T10:00:30Z", Duration::minutes(5)}),
      "2026-01-03T10:00:00Z");
}

TEST(CronTiming, IntervalsKeepTheirPhase) {
  EXPECT_EQ(due({"@every 7m", "2026-01-01T10:00:00Z", "2026-01-01T10:30:00Z"}),
            "2026-01-01T10:28:00Z");
  const auto schedule = *model::CronSchedule::parse("@every 7m");
  const TimeZone zone;
  const auto next = next_run({.schedule = schedule,
                              .zone = zone,
                              .since = at("2026-01-01T10:00:00Z"),
                              .deadline = {},
                              .now = at("2026-01-01T10:30:00Z")});
  EXPECT_EQ(to_rfc3339(*next), "2026-01-01T10:35:00Z");
}

} // namespace
} // namespace berth::controllers
