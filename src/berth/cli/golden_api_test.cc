// The recorded conversations agree, but for steps that docs/api-compatibility.md explains.
#include "berth/cli/golden_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace berth::cli {
namespace {

std::string shared_folder() {
  const char* named = std::getenv("BERTH_SHARED");
  return named != nullptr ? named : std::string(BERTH_SOURCE_DIR) + "/../shared";
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// "watch.json step 8" of every line that says so, in whatever text.
std::set<std::string> steps_named(const std::string& text) {
  static const std::regex kStep(R"(([a-z-]+\.json) step (\d+))");
  std::set<std::string> steps;
  for (std::sregex_iterator at(text.begin(), text.end(), kStep), end; at != end; ++at) {
    steps.insert((*at)[1].str() + " step " + (*at)[2].str());
  }
  return steps;
}

TEST(GoldenApi, OnlyExplainedStepsDiffer) {
  const std::string folder = shared_folder() + "/golden-api";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "no recorded conversations below " << shared_folder();
  }
  const std::vector<std::string> folders = {folder};
  std::ostringstream out;
  run_golden_api(folders, "", out);
  const std::set<std::string> explained =
      steps_named(text_of(std::string(BERTH_SOURCE_DIR) + "/docs/api-compatibility.md"));
  EXPECT_EQ(steps_named(out.str()), explained) << out.str();
}

TEST(GoldenApi, ADifferenceIsNamedByItsPath) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "golden-api";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "odd.json")
      << R"([{"as":"admin","method":"GET","path":"/livez","status":200,"response":"ok"},)"
      << R"({"as":"admin","method":"GET","path":"/api/v1/namespaces/<ns>","status":200,)"
      << R"("response":{"kind":"Namespace","apiVersion":"v2"}}])";
  const std::vector<std::string> folders = {folder.string()};
  std::ostringstream out;
  EXPECT_EQ(run_golden_api(folders, "odd", out), 1);
  EXPECT_THAT(out.str(), testing::HasSubstr("odd.json step 2 GET /api/v1/namespaces/talk: "
                                            "$.apiVersion: want \"v2\", got \"v1\""));
  EXPECT_THAT(out.str(), testing::EndsWith("2 steps: 1 agree, 1 differ\n"));
}

TEST(GoldenApi, AFolderThatIsNotThereIsAnError) {
  const std::vector<std::string> folders = {"/no/such/folder"};
  std::ostringstream out;
  EXPECT_EQ(run_golden_api(folders, "", out), 1);
  EXPECT_THAT(out.str(), testing::HasSubstr("error: /no/such/folder"));
}

} // namespace
} // namespace berth::cli
