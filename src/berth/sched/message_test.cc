#include "berth/sched/message.h"

#include <gtest/gtest.h>

namespace berth::sched {
namespace {

TEST(RenderHistogram, SortsRenderedEntriesAsText) {
  EXPECT_EQ(render_histogram({{"b", 2}, {"a", 10}, {"c", 1}}), "1 c, 10 a, 2 b");
  EXPECT_EQ(render_histogram({{"node(s) were unschedulable", 1}, {"Insufficient cpu", 1}}),
            "1 Insufficient cpu, 1 node(s) were unschedulable");
  EXPECT_EQ(render_histogram({}), "");
}

TEST(FailedSchedulingMessage, HasTheGrammarToolsParse) {
  EXPECT_EQ(failed_scheduling_message(3, "", {{"Insufficient cpu", 3}}, ""),
            "0/3 nodes are available: 3 Insufficient cpu.");
  EXPECT_EQ(failed_scheduling_message(3, "", {{"Insufficient cpu", 3}}, "preemption: x"),
            "0/3 nodes are available: 3 Insufficient cpu. preemption: x");
  EXPECT_EQ(failed_scheduling_message(3, "prefilter says no", {{"Insufficient cpu", 3}}, "post"),
            "0/3 nodes are available: prefilter says no. post");
}

TEST(EventNote, IsCutTo1024Bytes) {
  EXPECT_EQ(event_note("short"), "short");
  EXPECT_EQ(event_note(std::string(1024, 'x')), std::string(1024, 'x'));
  EXPECT_EQ(event_note(std::string(1025, 'x')), std::string(1020, 'x') + " ...");
}

TEST(EventNote, NeverSplitsACharacter) {
  const std::string text = std::string(1019, 'x') + "\xC3\xA9" + std::string(20, 'y');
  EXPECT_EQ(event_note(text), std::string(1019, 'x') + " ...");
}

} // namespace
} // namespace berth::sched
