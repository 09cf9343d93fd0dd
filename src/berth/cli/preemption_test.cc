// The worked example of docs/preemption.md, run as written there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/berth_run.h"
#include "berth/testing/golden_text.h"

namespace berth::cli {
namespace {

using ::testing::HasSubstr;

const std::string kFolder = "examples/preemption/";

TEST(PreemptionGuide, QuotesTheExample) {
  const std::string guide = testing::read_source_file("docs/preemption.md");
  const std::string folder = std::string(BERTH_SOURCE_DIR) + "/" + kFolder;
  const std::size_t call =
      guide.find("$ berth run -f examples/preemption/gangs.yaml --nodes dgx-h100:4 "
                 "--scheduler-config examples/preemption/scheduler.yaml\n");
  ASSERT_NE(call, std::string::npos);
  const std::string out = test::berth_run({"-f", folder + "gangs.yaml", "--nodes", "dgx-h100:4",
                                           "--scheduler-config", folder + "scheduler.yaml"})
                              .out;
  // Quoted in pieces, with "..." between them.
  std::size_t begin = guide.find("...\n", call) + 4;
  const std::size_t end = guide.find("```", call);
  int pieces = 0;
  while (begin < end) {
    const std::size_t stop = std::min(guide.find("...\n", begin), end);
    EXPECT_THAT(out, HasSubstr(guide.substr(begin, stop - begin)));
    begin = stop + 4;
    ++pieces;
  }
  EXPECT_GE(pieces, 1);
}

} // namespace
} // namespace berth::cli
