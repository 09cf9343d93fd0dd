#include "berth/base/time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"

namespace berth {
namespace {

using testing::HasSubstr;

struct RfcCase {
  std::string given;
  std::int64_t unix_nanos;
};

class Rfc3339 : public testing::TestWithParam<RfcCase> {};

TEST_P(Rfc3339, IsRead) {
  const auto time = parse_rfc3339(GetParam().given);
  ASSERT_TRUE(time.has_value()) << GetParam().given;
  EXPECT_EQ(time->unix_nanos(), GetParam().unix_nanos);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Rfc3339,
    testing::Values(RfcCase{"1970-01-01T00:00:00Z", 0},
                    RfcCase{"2026-01-02T03:04:05Z", 1'767'323'045'000'000'000},
                    RfcCase{"2026-01-02T03:04:05.000006Z", 1'767'323'045'000'006'000},
                    RfcCase{"2026-01-02t03:04:05z", 1'767'323'045'000'000'000},
                    RfcCase{"2026-01-02T05:04:05+02:00", 1'767'323'045'000'000'000},
                    RfcCase{"2026-01-01T19:34:05-07:30", 1'767'323'045'000'000'000},
                    RfcCase{"2000-02-29T00:00:00Z", 951'782'400'000'000'000},
                    RfcCase{"1969-12-31T23:59:59.5Z", -500'000'000}));

class Rfc3339Bad : public testing::TestWithParam<std::string> {};

TEST_P(Rfc3339Bad, IsRefused) {
  const auto time = parse_rfc3339(GetParam());
  ASSERT_FALSE(time.has_value());
  EXPECT_THAT(time.error().message, HasSubstr("\"" + GetParam() + "\""));
}

INSTANTIATE_TEST_SUITE_P(Table, Rfc3339Bad,
                         testing::Values("", "yesterday", "2026-01-02", "2026-01-02T03:04:05",
                                         "2026-13-02T03:04:05Z", "2025-02-29T00:00:00Z",
                                         "2026-01-02T24:04:05Z", "2026-01-02T03:60:05Z",
                                         "2026-01-02T03:04:05.Z", "2026-01-02T03:04:05Zx",
                                         "2026-01-02T03:04:05+0200", "2026-1-2T03:04:05Z",
                                         "-026-01-02T03:04:05Z", "9999-01-02T03:04:05Z",
                                         "2026-01-02T-3:04:05Z"));

TEST(Rfc3339Property, RoundTrips) {
  Rng rng(1);
  for (int i = 0; i < 10'000; ++i) {
    const TimePoint t = TimePoint::from_unix_nanos(
        rng.between(-4'000'000'000'000'000'000, 8'000'000'000'000'000'000) / 1000 * 1000);
    ASSERT_EQ(parse_rfc3339(to_rfc3339_micro(t)), t) << to_rfc3339_micro(t);
    ASSERT_EQ(to_rfc3339(*parse_rfc3339(to_rfc3339(t))), to_rfc3339(t));
  }
}

struct DurationCase {
  std::string given;
  std::int64_t nanos;
  std::string canonical;
};

class DurationText : public testing::TestWithParam<DurationCase> {};

TEST_P(DurationText, IsGos) {
  const auto duration = parse_duration(GetParam().given);
  ASSERT_TRUE(duration.has_value()) << berth::to_string(duration.error());
  EXPECT_EQ(duration->count_nanos(), GetParam().nanos);
  EXPECT_EQ(to_string(*duration), GetParam().canonical);
}

INSTANTIATE_TEST_SUITE_P(Table, DurationText,
                         testing::Values(DurationCase{"0", 0, "0s"}, DurationCase{"0s", 0, "0s"},
                                         DurationCase{"5m", 300'000'000'000, "5m"},
                                         DurationCase{"1h30m", 5'400'000'000'000, "1h30m"},
                                         DurationCase{"90s", 90'000'000'000, "1m30s"},
                                         DurationCase{"1.5s", 1'500'000'000, "1.5s"},
                                         DurationCase{"300ms", 300'000'000, "300ms"},
                                         DurationCase{"1.5h", 5'400'000'000'000, "1h30m"},
                                         DurationCase{".5s", 500'000'000, "500ms"},
                                         DurationCase{"10us", 10'000, "10us"},
                                         DurationCase{"7ns", 7, "7ns"},
                                         DurationCase{"24h", 86'400'000'000'000, "24h"},
                                         DurationCase{"1h0.25s", 3'600'250'000'000, "1h0.25s"},
                                         DurationCase{"2\u00b5s", 2'000, "2us"},
                                         DurationCase{"1m1m", 120'000'000'000, "2m"}));

class DurationBad : public testing::TestWithParam<std::string> {};

TEST_P(DurationBad, IsRefused) {
  EXPECT_FALSE(parse_duration(GetParam()).has_value()) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    Table, DurationBad,
    testing::Values("", "5", "m", "-5m", "5 m", "5d", "1h-3m", "1..5s", ".s", "9999999999h",
                    "99999999999999999999s",
                    "300000h300000h300000h300000h300000h300000h300000h300000h300000h"));

TEST(DurationProperty, TextRoundTrips) {
  Rng rng(2);
  for (int i = 0; i < 10'000; ++i) {
    const Duration d =
        Duration::nanos(static_cast<std::int64_t>(rng.next() >> (1 + rng.below(60))));
    ASSERT_EQ(parse_duration(to_string(d)), d) << to_string(d);
  }
}

TEST(Age, IsKubectls) {
  const auto age = [](std::int64_t seconds) { return to_age(Duration::seconds(seconds)); };
  EXPECT_EQ(age(-5), "0s");
  EXPECT_EQ(age(0), "0s");
  EXPECT_EQ(age(119), "119s");
  EXPECT_EQ(age(120), "2m");
  EXPECT_EQ(age(150), "2m30s");
  EXPECT_EQ(age(14 * 60 + 5), "14m");
  EXPECT_EQ(age(179 * 60), "179m");
  EXPECT_EQ(age(180 * 60), "3h");
  EXPECT_EQ(age(3 * 3600 + 20 * 60), "3h20m");
  EXPECT_EQ(age(47 * 3600), "47h");
  EXPECT_EQ(age(52 * 3600), "2d4h");
  EXPECT_EQ(age(45 * 86400), "45d");
  EXPECT_EQ(age((3 * 365 + 2) * 86400), "3y2d");
  EXPECT_EQ(age(9LL * 365 * 86400), "9y");
}

} // namespace
} // namespace berth
