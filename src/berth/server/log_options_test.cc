#include "berth/server/log_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::server {
namespace {

using testing::HasSubstr;

constexpr TimePoint at(std::int64_t second) {
  return TimePoint::from_unix_seconds(1'700'000'000 + second);
}

Answer<LogOptions> read(net::HttpHeaders query) {
  return log_options("p", query, at(100));
}

std::string said(net::HttpHeaders query) {
  const auto options = read(std::move(query));
  return options ? "" : options.error().message;
}

std::vector<LogLine> log_of(int lines) {
  std::vector<LogLine> out;
  for (int i = 0; i < lines; ++i) {
    out.push_back({.at = at(i), .text = "line " + std::to_string(i)});
  }
  return out;
}

TEST(LogOptions, AreReadAsKubernetesReadsThem) {
  const auto options = read({{"container", "c"},
                             {"follow", "true"},
                             {"previous", "false"},
                             {"tailLines", "0"},
                             {"sinceSeconds", "40"}});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->container, "c");
  EXPECT_TRUE(options->follow);
  EXPECT_FALSE(options->previous);
  EXPECT_EQ(options->tail_lines, 0);
  EXPECT_EQ(options->since, at(60));
  EXPECT_EQ(read({{"sinceTime", "2023-11-14T22:13:21Z"}})->since, at(1));
}

TEST(LogOptions, WhatIsWrongIsSaid) {
  EXPECT_EQ(said({{"tailLines", "x"}}), "strconv.ParseInt: parsing \"x\": invalid syntax");
  EXPECT_EQ(said({{"tailLines", "99999999999999999999"}}),
            "strconv.ParseInt: parsing \"99999999999999999999\": value out of range");
  EXPECT_EQ(said({{"tailLines", "-1"}}),
            "PodLogOptions \"p\" is invalid: tailLines: Invalid value: -1: must be greater than or "
            "equal to 0");
  EXPECT_EQ(said({{"limitBytes", "0"}}),
            "PodLogOptions \"p\" is invalid: limitBytes: Invalid value: 0: must be greater than 0");
  EXPECT_THAT(said({{"sinceSeconds", "1"}, {"sinceTime", "2023-11-14T22:13:21Z"}}),
              HasSubstr("at most one of `sinceTime` or `sinceSeconds` may be specified"));
  EXPECT_THAT(said({{"sinceTime", "today"}}), HasSubstr("parsing time \"today\""));
  EXPECT_EQ(read({{"sinceSeconds", "9223372036854775807"}}).has_value(), true);
}

TEST(LogWriter, TailSinceLimitAndTimestamps) {
  const auto lines = log_of(4);
  EXPECT_EQ(LogWriter({.container = "", .tail_lines = 2}).more(lines), "line 2\nline 3\n");
  EXPECT_EQ(LogWriter({.container = "", .tail_lines = 9}).more(log_of(1)), "line 0\n");
  EXPECT_EQ(LogWriter({.container = "", .since = at(3)}).more(lines), "line 3\n");
  EXPECT_EQ(LogWriter({.container = "", .limit_bytes = 9}).more(lines), "line 0\nli");
  EXPECT_EQ(LogWriter({.container = "", .timestamps = true, .tail_lines = 1}).more(lines),
            "2023-11-14T22:13:23.000000000Z line 3\n");
}

TEST(LogWriter, TellsEachLineOnce) {
  LogWriter writer({.container = "", .tail_lines = 1, .limit_bytes = 16});
  EXPECT_EQ(writer.more(log_of(2)), "line 1\n");
  EXPECT_EQ(writer.more(log_of(2)), "");
  EXPECT_FALSE(writer.full());
  EXPECT_EQ(writer.more(log_of(4)), "line 2\nli");
  EXPECT_TRUE(writer.full());
}

} // namespace
} // namespace berth::server
