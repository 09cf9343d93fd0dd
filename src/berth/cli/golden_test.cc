#include "berth/cli/golden.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cli {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;

struct Ran {
  int status = 0;
  std::string text;
};

Ran run(const std::vector<std::string>& dirs) {
  std::ostringstream out;
  const int status = run_golden(dirs, out);
  return {.status = status, .text = out.str()};
}

const std::string kOwn = std::string(BERTH_SOURCE_DIR) + "/src/berth/sched/testdata";

TEST(Golden, OwnScenariosAgree) {
  const Ran ran = run({kOwn});
  EXPECT_EQ(ran.text, "12 decisions: 12 agree, 0 out of scope, 0 differ\n");
  EXPECT_EQ(ran.status, 0);
}

TEST(Golden, RecordedDecisionsOfARealSchedulerAgree) {
  const char* given = std::getenv("BERTH_SHARED");
  const fs::path shared =
      given != nullptr ? fs::path(given) : fs::path(BERTH_SOURCE_DIR) / ".." / "shared";
  if (!fs::is_directory(shared / "golden")) {
    GTEST_SKIP() << "no recorded decisions at " << shared / "golden"
                 << "; set BERTH_SHARED";
  }
  const Ran ran = run({(shared / "golden").string()});
  EXPECT_THAT(ran.text, EndsWith(" 0 out of scope, 0 differ\n"));
  EXPECT_EQ(ran.status, 0) << ran.text;
}

/// A scenario written to a folder of its own.
class GoldenFile : public testing::Test {
 protected:
  GoldenFile()
      : dir_(fs::path(testing::TempDir()) /
             testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::create_directories(dir_);
  }
  ~GoldenFile() override { fs::remove_all(dir_); }
  Ran with(std::string_view text) {
    std::ofstream(dir_ / "s.json") << text;
    return run({dir_.string()});
  }
  fs::path dir_;
};

constexpr std::string_view kScenario = R"({"namespace": "g",
  "nodes": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
             "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}}],
  "pods": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "CPU"}}}]VOLUMES}}],
  "expected": [EXPECTED]})";

std::string scenario(std::string_view cpu, std::string_view expected,
                     std::string_view volumes = "") {
  std::string text(kScenario);
  const auto put = [&](std::string_view mark, std::string_view value) {
    text.replace(text.find(mark), mark.size(), value);
  };
  put("CPU", cpu);
  put("VOLUMES", volumes);
  put("EXPECTED", expected);
  return text;
}

TEST_F(GoldenFile, ADifferenceIsOneLineThatNamesIt) {
  const Ran ran =
      with(scenario("9", R"({"pod": "p", "reason": "Unschedulable", "message": "no"})"));
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.text,
              HasSubstr("s.json: p: message: here 0/1 nodes are available: 1 Insufficient cpu."));
  EXPECT_THAT(ran.text, EndsWith("1 decisions: 0 agree, 0 out of scope, 1 differ\n"));
}

TEST_F(GoldenFile, AWrongPlacementDiffers) {
  EXPECT_EQ(with(scenario("1", R"({"pod": "p", "node": "n"})")).status, 0);
  EXPECT_THAT(with(scenario("9", R"({"pod": "p", "node": "n"})")).text,
              HasSubstr("placed: here false, recorded true"));
}

TEST_F(GoldenFile, WhatIsMissingHereIsOutOfScopeByName) {
  const Ran ran = with(
      scenario("1", R"({"pod": "p", "node": "n"})",
               R"(, "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])"));
  EXPECT_EQ(ran.text,
            "1 decisions: 0 agree, 1 out of scope (volume persistentVolumeClaim: 1), 0 differ\n");
  EXPECT_EQ(ran.status, 0);
}

TEST_F(GoldenFile, BrokenFilesAreErrors) {
  EXPECT_THAT(with("{").text, HasSubstr("error: s.json: "));
  EXPECT_THAT(with(R"({"pods": [{}], "expected": []})").text,
              HasSubstr("1 pods but 0 expected decisions"));
  EXPECT_EQ(with(R"({"pods": [3], "expected": [3]})").status, 1);
}

TEST_F(GoldenFile, NothingToRunIsAnError) {
  EXPECT_THAT(run({dir_.string()}).text, HasSubstr("error: no scenario (*.json) below"));
  EXPECT_THAT(run({(dir_ / "absent").string()}).text, HasSubstr("error: cannot read directory"));
}

} // namespace
} // namespace berth::cli
