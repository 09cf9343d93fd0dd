// The worked examples of docs/scheduler-plugins.md, run as written there.
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/berth_run.h"
#include "berth/testing/golden_text.h"

namespace berth::cli {
namespace {

using test::berth_run;
using test::Outcome;
using ::testing::HasSubstr;
namespace json = boost::json;

const std::string kFolder = "examples/scheduler-plugins/";

struct Example {
  const char* file;
  const char* nodes;
};

std::vector<std::string> words_of(const Example& example) {
  const std::string folder = std::string(BERTH_SOURCE_DIR) + "/" + kFolder;
  return {"-f",          folder + example.file, "--nodes",
          example.nodes, "--scheduler-config",  folder + "scheduler.yaml"};
}

class SchedulerPluginsGuide : public ::testing::TestWithParam<Example> {};

TEST_P(SchedulerPluginsGuide, QuotesTheExample) {
  const std::string guide = testing::read_source_file("docs/scheduler-plugins.md");
  const std::string command =
      std::string("$ berth run -f ") + kFolder + GetParam().file + " --nodes " + GetParam().nodes;
  const std::size_t call = guide.find(command);
  ASSERT_NE(call, std::string::npos) << command;
  const std::size_t begin = guide.find("...\n", call) + 4;
  const std::string quoted = guide.substr(begin, guide.find("...", begin) - begin);
  ASSERT_THAT(quoted, HasSubstr("GPU MAP"));
  EXPECT_THAT(berth_run(words_of(GetParam())).out, HasSubstr(quoted));
}

INSTANTIATE_TEST_SUITE_P(Examples, SchedulerPluginsGuide,
                         ::testing::Values(Example{"quotas.yaml", "l40s-pcie-8:2"},
                                           Example{"small-first.yaml",
                                                   "dgx-h100:1,l40s-pcie-8:1,a10g-pcie-4:1"},
                                           Example{"numa.yaml", "l40s-pcie-8:2"}),
                         [](const auto& example) {
                           const std::string file = example.param.file;
                           return file == "small-first.yaml" ? "small_first"
                                                             : file.substr(0, file.find('.'));
                         });

TEST(SchedulerPluginsGuideLoad, PlacesByLoad) {
  std::vector<std::string> words = words_of({"load.yaml", "l40s-pcie-8:2"});
  words.insert(words.end(), {"-o", "json", "-q"});
  const Outcome o = berth_run(words);
  ASSERT_EQ(o.code, 0) << o.err;
  for (const json::value& pod : json::parse(o.out).at("pods").as_array()) {
    EXPECT_EQ(pod.at("node").as_string(), "l40s-pcie-8-1") << pod.at("name");
  }
}

} // namespace
} // namespace berth::cli
