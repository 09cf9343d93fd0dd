#include "berth/base/time_zone.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TimePoint at(const char* text) {
  return *parse_rfc3339(text);
}

TEST(TimeZone, KnowsPlacesAndTheirSummer) {
  const TimeZone berlin = *TimeZone::load("Europe/Berlin");
  EXPECT_EQ(berlin.to_rfc3339(at("2026-01-02T03:04:05Z")), "2026-01-02T04:04:05+01:00");
  EXPECT_EQ(berlin.to_rfc3339(at("2026-07-02T03:04:05Z")), "2026-07-02T05:04:05+02:00");
  EXPECT_EQ(TimeZone().to_rfc3339(at("2026-07-02T03:04:05Z")), "2026-07-02T03:04:05Z");
  EXPECT_EQ(berlin.at(at("2026-01-04T23:30:00Z")).weekday, 1) << "it is Monday there";
}

TEST(TimeZone, CivilTimesThatAreNoneBecomeTheNext) {
  const TimeZone berlin = *TimeZone::load("Europe/Berlin");
  const CivilTime none{.year = 2026, .month = 3, .day = 29, .hour = 2, .minute = 30};
  EXPECT_EQ(berlin.instant(none), at("2026-03-29T01:00:00Z"));
  const CivilTime twice{.year = 2026, .month = 10, .day = 25, .hour = 2, .minute = 30};
  EXPECT_EQ(berlin.instant(twice), at("2026-10-25T00:30:00Z"));
}

TEST(TimeZone, RefusesWhatIsNoPlace) {
  for (const char* name : {"", "Mars/Olympus", "/etc/passwd", "../x", "Local", "localtime", "A B",
                           "Fixed/UTC+01:00:00"}) {
    const auto zone = TimeZone::load(name);
    ASSERT_FALSE(zone.has_value()) << name;
    EXPECT_EQ(zone.error().message, std::string("unknown time zone ") + name);
  }
}

} // namespace
} // namespace berth
