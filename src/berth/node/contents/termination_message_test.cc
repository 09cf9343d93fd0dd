#include "berth/node/contents/termination_message.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/temp_files.h"

namespace berth::node {
namespace {

using ::testing::StartsWith;

class TerminationMessage : public test::TempFiles {
 protected:
  std::string message(std::string_view policy, int exit_code) {
    const auto container = api::parse_json(
        fmt::format(R"({{"name": "c", "terminationMessagePolicy": "{}"}})", policy));
    return termination_message(
        *container, {.file = path("said"), .log_path = path("log"), .exit_code = exit_code});
  }
};

TEST_F(TerminationMessage, IsWhatTheContainerWrote) {
  write("said", "out of cheese");
  write("log", "2026-01-02T03:04:05Z stdout F something else\n");
  EXPECT_EQ(message("File", 1), "out of cheese");
  EXPECT_EQ(message("FallbackToLogsOnError", 1), "out of cheese");
}

TEST_F(TerminationMessage, FallsBackToTheLogOfAFailureIfAsked) {
  write("said", "");
  write("log", "2026-01-02T03:04:05Z stdout F first\n2026-01-02T03:04:05Z stderr P se\n"
               "2026-01-02T03:04:05Z stderr F cond\n");
  EXPECT_EQ(message("FallbackToLogsOnError", 1), "first\nsecond\n");
  EXPECT_EQ(message("FallbackToLogsOnError", 0), "");
  EXPECT_EQ(message("File", 1), "");
}

TEST_F(TerminationMessage, NothingAtAllIsNoMessage) {
  EXPECT_EQ(message("FallbackToLogsOnError", 1), "");
}

TEST_F(TerminationMessage, IsNoLongerThanAStatusTakes) {
  write("said", std::string(10'000, 'x'));
  EXPECT_EQ(message("File", 1).size(), 4096u);
}

TEST_F(TerminationMessage, FollowsNoLinkThatAContainerMade) {
  write("secret", "the machine's own");
  std::filesystem::create_symlink(path("secret"), path("said"));
  EXPECT_EQ(message("File", 1), "");
}

TEST(LogTail, IsTheLastLinesAndBytes) {
  std::string log;
  for (int i = 0; i < 200; ++i) {
    log += fmt::format("2026-01-02T03:04:05Z stdout F line {}\n", i);
  }
  EXPECT_THAT(log_tail(log), StartsWith("line 120\nline 121\n"));
  const std::string wide = "2026-01-02T03:04:05Z stdout F " + std::string(5000, 'y') + "\n";
  EXPECT_EQ(log_tail(wide).size(), 2048u);
  EXPECT_EQ(log_tail("no stamp at all"), "no stamp at all\n");
  EXPECT_EQ(log_tail(""), "");
}

TEST(TerminationPath, HasADefault) {
  EXPECT_EQ(termination_path(api::parse_json("{}").value()), "/dev/termination-log");
  EXPECT_EQ(termination_path(api::parse_json(R"({"terminationMessagePath": "/x"})").value()), "/x");
}

} // namespace
} // namespace berth::node
