#include "berth/report/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::report {
namespace {

using ::testing::ElementsAre;

TEST(DisplayWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("gpu"), 3U);
  EXPECT_EQ(display_width("f\xC3\xBCr"), 3U);       // u with diaeresis
  EXPECT_EQ(display_width("\xE6\x97\xA5"), 2U);     // a wide character
  EXPECT_EQ(display_width("e\xCC\x81"), 1U);        // combining acute
  EXPECT_EQ(display_width("\xF0\x9F\x9A\x80"), 2U); // an emoji
  EXPECT_EQ(display_width("\xFF\xFE"), 2U) << "broken bytes count one each";
}

TEST(Clip, KeepsWhatFitsAndMarksWhatDoesNot) {
  EXPECT_EQ(clip("dgx-h100-1", 10), "dgx-h100-1");
  EXPECT_EQ(clip("dgx-h100-12", 10), "dgx-h10...");
  EXPECT_EQ(clip("abcdef", 3), "...");
  EXPECT_EQ(clip("abcdef", 2), "..");
  EXPECT_EQ(clip("abcdef", 0), "");
  EXPECT_EQ(clip("\xE6\x97\xA5\xE6\x97\xA5\xE6\x97\xA5", 5), "\xE6\x97\xA5...")
      << "never half of a wide character";
}

TEST(Printable, DisarmsTerminalEscapes) {
  EXPECT_EQ(printable("a\x1b[31mb"), "a?[31mb");
  EXPECT_EQ(printable("two\nlines\tand\rmore"), "two lines and more");
  EXPECT_EQ(printable(std::string_view("nul\0in", 6)), "nul?in");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "?31m")
      << "C1 control sequence introducer";
  EXPECT_EQ(printable("\xE2\x80\xAE"), "?") << "right-to-left override";
  EXPECT_EQ(printable("\xC0\xAF"), "??") << "overlong form";
  EXPECT_EQ(printable("\xED\xA0\x80"), "???") << "surrogate";
  EXPECT_EQ(printable("\xE6\x97"), "??") << "cut short";
  EXPECT_EQ(printable("f\xC3\xBCr"), "f\xC3\xBCr");
}

TEST(Wrap, FillsLinesAtWords) {
  EXPECT_THAT(wrap("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(wrap("one two three", 80), ElementsAre("one two three"));
  EXPECT_THAT(wrap("a-very-long-word b", 4), ElementsAre("a-very-long-word", "b"));
  EXPECT_THAT(wrap("", 10), ElementsAre(""));
}

TEST(FormatBandwidth, OneDecimalBelowHundred) {
  EXPECT_EQ(format_bandwidth(0), "-");
  EXPECT_EQ(format_bandwidth(478'400), "478 GB/s");
  EXPECT_EQ(format_bandwidth(478'500), "479 GB/s");
  EXPECT_EQ(format_bandwidth(23'449), "23.4 GB/s");
  EXPECT_EQ(format_bandwidth(23'450), "23.5 GB/s");
  EXPECT_EQ(format_bandwidth(99'960), "100 GB/s");
  EXPECT_EQ(format_bandwidth(900), "0.9 GB/s");
}

TEST(FormatBrief, KeepsThePrecisionThatMatters) {
  EXPECT_EQ(format_brief(Duration()), "0s");
  EXPECT_EQ(format_brief(Duration::micros(350'400)), "350ms");
  EXPECT_EQ(format_brief(Duration::millis(4'249)), "4.2s");
  EXPECT_EQ(format_brief(Duration::millis(125'400)), "2m5s");
  EXPECT_EQ(format_brief(Duration::seconds(12'029)), "3h20m");
}

TEST(FormatBrief, NeverShowsMoreThanThereWas) {
  EXPECT_EQ(format_brief(Duration::micros(999)), "0s");
  EXPECT_EQ(format_brief(Duration::micros(999'999)), "999ms");
  EXPECT_EQ(format_brief(Duration::millis(59'999)), "59.9s");
  EXPECT_EQ(format_brief(Duration::minutes(60) - Duration::nanos(1)), "59m59s");
  EXPECT_EQ(format_brief(Duration::hours(2) - Duration::nanos(1)), "1h59m");
}

TEST(FormatClock, ShowsMilliseconds) {
  EXPECT_EQ(format_clock(Duration()), "0:00:00.000");
  EXPECT_EQ(format_clock(Duration::millis(602'345)), "0:10:02.345");
  EXPECT_EQ(format_clock(Duration::hours(49)), "49:00:00.000");
}

TEST(Counted, AddsThePlural) {
  EXPECT_EQ(counted(0, "pod"), "0 pods");
  EXPECT_EQ(counted(1, "pod"), "1 pod");
  EXPECT_EQ(counted(2, "pod"), "2 pods");
}

} // namespace
} // namespace berth::report
