#include "berth/trace/openb_experiments.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>

#include "berth/testing/temp_files.h"

namespace berth::trace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

fs::path openb() {
  const char* shared = std::getenv("BERTH_SHARED");
  return fs::path(shared != nullptr ? shared : BERTH_SOURCE_DIR "/../shared") / "data/openb";
}

/// All policies on two workloads, the second with pods that want certain models.
class Openb : public testing::TestWithParam<const char*> {};

TEST_P(Openb, ReplaysWhatWasPublished) {
  if (!fs::exists(openb() / "golden.csv")) {
    GTEST_SKIP() << "no " << openb() << "; set BERTH_SHARED";
  }
  std::ostringstream out;
  const auto differ =
      compare_openb({.dir = openb(), .workloads = {GetParam()}, .policies = {}, .threads = 2}, out);
  ASSERT_TRUE(differ.has_value()) << to_string(differ.error());
  EXPECT_EQ(*differ, 0) << out.str();
  EXPECT_THAT(out.str(), HasSubstr("50 series: 50 agree, 0 differ\n"));
}

INSTANTIATE_TEST_SUITE_P(Workloads, Openb, testing::Values("default", "gpuspec33"));

} // namespace
} // namespace berth::trace
