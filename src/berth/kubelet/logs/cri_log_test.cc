#include "berth/kubelet/logs/cri_log.h"

#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/testing/seeds.h"

namespace berth::kubelet {
namespace {

constexpr const char* kLog = "2026-01-01T00:00:01.000000001Z stdout F one\n"
                             "2026-01-01T00:00:02.5Z stderr F \n"
                             "no entry\n"
                             "2026-01-01T00:00:03Z stdout P thr\n"
                             "2026-01-01T00:00:04Z stdout P e\n"
                             "2026-01-01T00:00:05Z stdout F e\n"
                             "2026-01-01T00:00:06Z stdout F four  \n";

std::string told(const std::string& log, const server::LogOptions& options,
                 std::size_t step = 1'000'000) {
  CriLogTeller teller(options);
  std::string out;
  std::size_t at = options.tail_lines ? tail_begin(log.size(), *options.tail_lines,
                                                   [&](std::uint64_t from, std::size_t bytes) {
                                                     return log.substr(from, bytes);
                                                   })
                                      : 0;
  for (; at < log.size(); at += step) {
    out += teller.tell(std::string_view(log).substr(at, step));
  }
  return out;
}

TimePoint second(int number) {
  return *parse_rfc3339("2026-01-01T00:00:00Z") + Duration::seconds(number);
}

TEST(CriLog, EntriesAreRead) {
  const auto entry = parse_cri_entry("2026-01-01T00:00:01.5+01:00 stderr P:more a b ");
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->stamp, "2026-01-01T00:00:01.5+01:00");
  EXPECT_EQ(entry->at, second(1) - Duration::minutes(60) + Duration::millis(500));
  EXPECT_EQ(entry->stream, "stderr");
  EXPECT_EQ(entry->tag, CriEntry::Tag::Partial);
  EXPECT_EQ(entry->text, "a b ");
  for (const char* line : {"2026-01-01T00:00:01Z stdout F", "2026-01-01T00:00:01Z stdout F "}) {
    ASSERT_TRUE(parse_cri_entry(line).has_value()) << line;
    EXPECT_EQ(parse_cri_entry(line)->text, "") << line;
  }
}

TEST(CriLog, WhatIsNoEntryIsNone) {
  for (const char* line :
       {"", " ", "x", "2026-01-01T00:00:01Z", "2026-01-01T00:00:01Z stdin F text",
        "2026-01-01T00:00:01Z stdout X text", "yesterday stdout F text",
        "2026-01-01T00:00:01Z stdout", R"({"log":"text\n","stream":"stdout"})"}) {
    EXPECT_FALSE(parse_cri_entry(line).has_value()) << line;
  }
}

struct Case {
  const char* name;
  server::LogOptions options;
  const char* want;
};

class CriLogOptions : public testing::TestWithParam<Case> {};

TEST_P(CriLogOptions, SayWhatIsTold) {
  EXPECT_EQ(told(kLog, GetParam().options), GetParam().want);
  EXPECT_EQ(told(kLog, GetParam().options, 1), GetParam().want) << "byte by byte";
}

INSTANTIATE_TEST_SUITE_P(
    All, CriLogOptions,
    testing::Values(Case{"None", {}, "one\n\nthree\nfour  \n"},
                    Case{"Timestamps",
                         {.timestamps = true},
                         "2026-01-01T00:00:01.000000001Z one\n2026-01-01T00:00:02.5Z \n"
                         "2026-01-01T00:00:03Z three\n2026-01-01T00:00:06Z four  \n"},
                    Case{"SinceIsOfALinesBegin", {.since = second(4)}, "four  \n"},
                    Case{"SinceIncludesItsMoment", {.since = second(3)}, "three\nfour  \n"},
                    Case{"TailCountsWholeLines", {.tail_lines = 2}, "three\nfour  \n"},
                    Case{"TailOfMoreThanThereIs", {.tail_lines = 100}, "one\n\nthree\nfour  \n"},
                    Case{"TailOfNothing", {.tail_lines = 0}, ""},
                    Case{"Limit", {.limit_bytes = 8}, "one\n\nthr"},
                    Case{"LimitCountsTimestamps", {.timestamps = true, .limit_bytes = 4}, "2026"},
                    Case{"TailThenSince", {.since = second(6), .tail_lines = 2}, "four  \n"}),
    [](const auto& one) { return one.param.name; });

TEST(CriLog, TheLimitEndsIt) {
  CriLogTeller teller({.limit_bytes = 3});
  EXPECT_FALSE(teller.full());
  EXPECT_EQ(teller.tell(kLog), "one");
  EXPECT_TRUE(teller.full());
  EXPECT_EQ(teller.tell(kLog), "");
}

TEST(CriLog, AnEntryBeyondAllBoundsIsLeftOut) {
  CriLogTeller teller({});
  EXPECT_EQ(teller.tell("2026-01-01T00:00:01Z stdout F "), "");
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(teller.tell(std::string(std::size_t{1024} * 1024, 'x')), "");
  }
  EXPECT_EQ(teller.tell("x\n2026-01-01T00:00:02Z stdout F next\n"), "next\n");
}

// ---- against a reader that splits the whole text and joins its parts

struct Joined {
  std::string text;
  bool ended = false;
};

std::deque<Joined> plainly(const std::string& log) {
  std::deque<Joined> lines;
  std::size_t at = 0;
  while (at < log.size()) {
    const std::size_t end = log.find('\n', at);
    if (end == std::string::npos) {
      break;
    }
    const std::string entry = log.substr(at, end - at);
    at = end + 1;
    if (lines.empty() || lines.back().ended) {
      lines.emplace_back();
    }
    constexpr std::size_t kTag = 28; // behind time and stream
    lines.back().text += entry.substr(kTag + 2);
    lines.back().ended = entry[kTag] == 'F';
  }
  return lines;
}

std::string random_log(Rng& rng) {
  std::string log;
  const std::size_t entries = rng.below(60);
  for (std::size_t i = 0; i < entries; ++i) {
    log += "2026-01-01T00:00:00Z ";
    log += rng.below(2) == 0 ? "stdout " : "stderr ";
    log += rng.below(3) == 0 ? "P " : "F ";
    // Some are longer than what is read at once.
    log += std::string(rng.below(12) == 0 ? rng.below(200'000) : rng.below(30), 'x') + "\n";
  }
  return log;
}

class CriLogProperty : public testing::TestWithParam<std::uint64_t> {};

TEST_P(CriLogProperty, TailsAreThoseOfTheWholeLog) {
  Rng rng(GetParam());
  const std::string log = random_log(rng);
  const auto lines = plainly(log);
  const auto count = static_cast<std::int64_t>(rng.below(70));
  std::string want;
  const auto first = std::max<std::int64_t>(0, static_cast<std::int64_t>(lines.size()) - count);
  for (auto i = static_cast<std::size_t>(first); i < lines.size(); ++i) {
    want += lines[i].text + (lines[i].ended ? "\n" : "");
  }
  EXPECT_EQ(told(log, {.tail_lines = count}), want);
  EXPECT_EQ(told(log, {.tail_lines = count}, 1 + rng.below(5000)), want);
  std::string all;
  for (const Joined& line : lines) {
    all += line.text + (line.ended ? "\n" : "");
  }
  const auto limit = static_cast<std::int64_t>(1 + rng.below(all.size() + 10));
  EXPECT_EQ(told(log, {.limit_bytes = limit}), all.substr(0, static_cast<std::size_t>(limit)));
}

INSTANTIATE_TEST_SUITE_P(Seeds, CriLogProperty, test::seeds(60));

} // namespace
} // namespace berth::kubelet
