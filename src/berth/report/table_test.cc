#include "berth/report/table.h"

#include <gtest/gtest.h>

namespace berth::report {
namespace {

Table pods() {
  Table table({{.title = "NAME", .shrinks = true},
               {.title = "GPUS", .align = Column::Align::Right},
               {.title = "NODE"},
               {.title = "UID", .show = Column::Show::Wide}});
  table.add({"trainer-0", "8", "dgx-h100-1", "u1"});
  table.add({"a", "16", "", "u2"});
  return table;
}

TEST(Table, AlignsColumnsWithoutTrailingBlanks) {
  EXPECT_EQ(pods().render({}), "NAME       GPUS  NODE\n"
                               "trainer-0     8  dgx-h100-1\n"
                               "a            16  -\n");
}

TEST(Table, WideShowsEveryColumn) {
  EXPECT_EQ(pods().render({.show = Column::Show::Wide}), "NAME       GPUS  NODE        UID\n"
                                                         "trainer-0     8  dgx-h100-1  u1\n"
                                                         "a            16  -           u2\n");
}

TEST(Table, WithoutHeadersColumnsAreAsNarrowAsTheirCells) {
  EXPECT_EQ(pods().render({.headers = TableStyle::Headers::Hide}), "trainer-0   8  dgx-h100-1\n"
                                                                   "a          16  -\n");
}

TEST(Table, NothingIsPrintedForNoRows) {
  EXPECT_EQ(Table({{.title = "NAME"}}).render({}), "");
}

TEST(Table, ANarrowTerminalClipsTheColumnThatShrinks) {
  Table table({{.title = "NAME", .shrinks = true}, {.title = "NODE"}});
  table.add({"a-very-long-name-of-a-pod", "dgx-h100-1"});
  EXPECT_EQ(table.render({.width = 30}), "NAME                NODE\n"
                                         "a-very-long-nam...  dgx-h100-1\n");
}

TEST(Table, NeverClipsBelowWhatIsReadable) {
  Table table({{.title = "NAME", .shrinks = true}, {.title = "NODE"}});
  table.add({"a-very-long-name-of-a-pod", "dgx-h100-1"});
  EXPECT_EQ(table.render({.width = 5}), "NAME          NODE\n"
                                        "a-very-lo...  dgx-h100-1\n");
}

TEST(Table, ColourDoesNotDisturbAlignment) {
  Table table({{.title = "PHASE"}, {.title = "N", .align = Column::Align::Right}});
  table.add({Cell("Running", Tone::Good), "1"});
  table.add({Cell("Failed", Tone::Bad), "10"});
  EXPECT_EQ(
      table.render({.headers = TableStyle::Headers::Hide, .paint = Painter(ColorUse::Always)}),
      "\x1b[32mRunning\x1b[0m   1\n"
      "\x1b[31mFailed\x1b[0m   10\n");
}

TEST(Table, IndentsEveryLine) {
  Table table({{.title = "A"}});
  table.add({"x"});
  EXPECT_EQ(table.render({.indent = "  "}), "  A\n  x\n");
}

TEST(Table, ForeignTextCannotBreakTheLine) {
  Table table({{.title = "A"}, {.title = "B"}});
  table.add({"x\ny", "\x1b[2J"});
  EXPECT_EQ(table.render({.headers = TableStyle::Headers::Hide}), "x y  ?[2J\n");
}

TEST(Painter, LeavesTextAloneWithoutColour) {
  EXPECT_EQ(Painter()(Tone::Bad, "x"), "x");
  EXPECT_EQ(Painter(ColorUse::Always)(Tone::Plain, "x"), "x");
  EXPECT_EQ(Painter(ColorUse::Always)(Tone::Bad, ""), "");
}

} // namespace
} // namespace berth::report
