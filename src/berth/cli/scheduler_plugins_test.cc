// The worked examples of docs/scheduler-plugins.md, run as written there.
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/berth_run.h"
#include "berth/testing/golden_text.h"

namespace berth::cli {
namespace {

using test::berth_run;
using ::testing::HasSubstr;

const std::string kFolder = "examples/scheduler-plugins/";

struct Example {
  const char* file;
  const char* nodes; ///< as the command line has them, after the first --nodes
};

/// The words of the command that the guide shows, with the files' places.
std::vector<std::string> words_of(const Example& example) {
  const std::string folder = std::string(BERTH_SOURCE_DIR) + "/" + kFolder;
  std::vector<std::string> words{"-f", folder + example.file, "--nodes"};
  std::istringstream nodes(example.nodes);
  for (std::string word; nodes >> word;) {
    words.push_back(word);
  }
  words.insert(words.end(), {"--scheduler-config", folder + "scheduler.yaml"});
  return words;
}

class SchedulerPluginsGuide : public ::testing::TestWithParam<Example> {};

TEST_P(SchedulerPluginsGuide, QuotesTheExample) {
  const std::string guide = testing::read_source_file("docs/scheduler-plugins.md");
  const std::string command = std::string("$ berth run -f ") + kFolder + GetParam().file +
                              " --nodes " + GetParam().nodes + " --scheduler-config";
  const std::size_t call = guide.find(command);
  ASSERT_NE(call, std::string::npos) << command;
  const std::size_t begin = guide.find("...\n", call) + 4;
  const std::string quoted = guide.substr(begin, guide.find("...", begin) - begin);
  EXPECT_THAT(berth_run(words_of(GetParam())).out, HasSubstr(quoted));
}

INSTANTIATE_TEST_SUITE_P(
    Examples, SchedulerPluginsGuide,
    ::testing::Values(Example{"quotas.yaml", "l40s-pcie-8:2"},
                      Example{"small-first.yaml",
                              "dgx-h100:1 --nodes l40s-pcie-8:1 --nodes a10g-pcie-4:1"},
                      Example{"numa.yaml", "l40s-pcie-8:2"}, Example{"load.yaml", "l40s-pcie-8:2"}),
    [](const auto& example) {
      const std::string file = example.param.file;
      return file == "small-first.yaml" ? "small_first" : file.substr(0, file.find('.'));
    });

} // namespace
} // namespace berth::cli
