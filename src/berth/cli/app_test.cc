#include "berth/cli/app.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/cli/command.h"
#include "berth/cli/completion.h"
#include "berth/cli/help.h"
#include "berth/report/text.h"
#include "berth/testing/berth_run.h"
#include "berth/testing/golden_text.h"

namespace berth::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(App, AloneItShowsWhatThereIs) {
  const test::Outcome o = test::berth({});
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.err, "");
  for (const Command& command : commands()) {
    if (command.of_programs) {
      EXPECT_THAT(o.out, Not(HasSubstr(std::string(command.name))));
      EXPECT_THAT(test::berth({"help", std::string(command.name)}).out,
                  HasSubstr(std::string(command.summary)));
      continue;
    }
    EXPECT_THAT(o.out, HasSubstr(std::string(command.name)));
    EXPECT_THAT(o.out, HasSubstr(std::string(command.summary.substr(0, 20))));
  }
  EXPECT_EQ(test::berth({"help"}).out, o.out);
  EXPECT_EQ(test::berth({"--help"}).out, o.out);
}

TEST(App, VersionGoesToStandardOutput) {
  EXPECT_EQ(test::berth({"--version"}).out, "berth 0.0.0 (commit test)\n");
  EXPECT_EQ(test::berth({"version"}).out, "berth 0.0.0 (commit test)\n");
}

struct Case {
  const char* name;
  std::vector<std::string> words;
  const char* error;
};

class UsageErrors : public ::testing::TestWithParam<Case> {};

TEST_P(UsageErrors, ExitWithTwoAndSayWhatToTry) {
  const test::Outcome o = test::berth(GetParam().words);
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.out, "");
  EXPECT_EQ(o.err, std::string(GetParam().error) + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    Table, UsageErrors,
    ::testing::Values(
        Case{"unknown_command",
             {"rum"},
             "error: unknown command \"rum\", did you mean \"run\"?; try berth help"},
        Case{"nothing_near",
             {"frobnicate"},
             "error: unknown command \"frobnicate\"; try berth help"},
        Case{"group_alone",
             {"top"},
             "error: top needs a sub-command: nodes, pods, gpus; try berth help"},
        Case{"unknown_sub_command",
             {"hardware", "lisst"},
             "error: unknown command \"hardware lisst\", did you mean \"hardware list\"?; try "
             "berth help"},
        Case{"unknown_flag",
             {"run", "--node", "dgx-h100"},
             "error: unknown flag --node, did you mean --nodes?; try berth run --help"},
        Case{"nothing_to_run",
             {"run"},
             "error: nothing to run: -f FILE is missing; try berth run --help"},
        Case{"bad_seed",
             {"run", "-f", "x", "--seed", "-1x"},
             "error: --seed: want a whole number from 0 to 2^64-1, got \"-1x\"; try berth run "
             "--help"},
        Case{"bad_speed",
             {"run", "-f", "x", "--speed", "warp"},
             "error: --speed: want virtual or real, got \"warp\"; try berth run --help"},
        Case{"missing_argument",
             {"hardware", "show"},
             "error: PLATFORM is missing; try berth hardware show --help"},
        Case{"bad_shell",
             {"completion", "tcsh"},
             "error: SHELL: want bash, zsh or fish, got \"tcsh\"; try berth completion --help"}),
    [](const auto& c) { return c.param.name; });

TEST(App, RunFlagsWithBadValuesAreUsageErrors) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", "-f", "x", "--nodes", "warp-core:4"},
        {"run", "-f", "x", "--nodes", "dgx-h100:-1"},
        {"run", "-f", "x", "--at", "5m:explode:dgx-h100-1"},
        {"run", "-f", "x", "--until", "yesterday"},
        {"run", "-f", "x", "--default-run-for", "a while"}}) {
    const test::Outcome o = test::berth(words);
    EXPECT_EQ(o.code, 2) << words[3];
    EXPECT_THAT(o.err, HasSubstr(words[3] + " " + words[4])) << "names the flag and the value";
    const bool knows_better = words[4] == "warp-core:4";
    EXPECT_TRUE(
        o.err.ends_with(knows_better ? "; try berth hardware list\n" : "; try berth run --help\n"))
        << o.err;
  }
}

TEST(Help, EveryCommandReadsLikeAManualPage) {
  for (const Command& command : commands()) {
    SCOPED_TRACE(command.name);
    std::istringstream name{std::string(command.name)};
    std::vector<std::string> words{"help"};
    for (std::string word; name >> word;) {
      words.push_back(word);
    }
    const test::Outcome o = test::berth(words);
    EXPECT_EQ(o.code, 0);
    EXPECT_THAT(o.out, HasSubstr("SYNOPSIS"));
    EXPECT_THAT(o.out, HasSubstr("--color"));
    for (const Flag& flag : command.flags) {
      EXPECT_THAT(o.out, HasSubstr(std::string(flag.name)));
    }
    words.erase(words.begin());
    words.emplace_back("--help");
    EXPECT_EQ(test::berth(words).out, o.out) << "help COMMAND and COMMAND --help are one page";
    std::istringstream lines(o.out);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(report::display_width(line), 100U) << line;
      EXPECT_FALSE(line.ends_with(' ')) << line;
    }
  }
}

TEST(Help, AGroupShowsItsCommands) {
  const test::Outcome o = test::berth({"help", "top"});
  EXPECT_THAT(o.out, HasSubstr("berth top nodes - "));
  EXPECT_THAT(o.out, HasSubstr("berth top pods - "));
  EXPECT_EQ(test::berth({"top", "--help"}).out, o.out);
}

TEST(Help, OfRun) {
  berth::testing::expect_golden("src/berth/cli/testdata/help-run.txt",
                                test::berth({"help", "run"}).out);
}

TEST(Help, AsAKubectlPluginItNamesItselfSo) {
  EXPECT_THAT(render_overview({.program = "kubectl berth"}), HasSubstr("kubectl berth COMMAND"));
}

TEST(Commands, AreWellFormed) {
  std::set<std::string_view> names;
  for (const Command& command : commands()) {
    SCOPED_TRACE(command.name);
    EXPECT_TRUE(names.insert(command.name).second) << "twice";
    EXPECT_NE(command.run, nullptr);
    EXPECT_FALSE(command.summary.empty());
    EXPECT_FALSE(command.synopsis.empty());
    std::set<std::string_view> flags;
    std::set<char> letters;
    std::vector<Flag> all = command.flags;
    all.insert(all.end(), shared_flags().begin(), shared_flags().end());
    for (const Flag& flag : all) {
      EXPECT_TRUE(flags.insert(flag.name).second) << flag.name << " twice";
      EXPECT_TRUE(flag.letter == 0 || letters.insert(flag.letter).second)
          << flag.letter << " twice";
      EXPECT_FALSE(flag.help.empty()) << flag.name;
      EXPECT_FALSE(flag.group.empty() && flag.name != "--help") << flag.name;
    }
  }
}

/// What a shell says about a script: 0 when it parses, nothing when there is no such shell here.
std::optional<int> parses_with(const std::string& shell, const std::string& script) {
  if (std::system(("command -v " + shell + " >/dev/null 2>&1").c_str()) != 0) {
    return std::nullopt;
  }
  const std::string path = ::testing::TempDir() + "berth-completion." + shell;
  std::ofstream(path) << script;
  return std::system((shell + " -n '" + path + "'").c_str());
}

TEST(Completion, TheScriptsParse) {
  for (const auto& [shell, script] :
       {std::pair<std::string, std::string>("bash", bash_completion()),
        {"zsh", zsh_completion()},
        {"fish", fish_completion()}}) {
    if (const auto result = parses_with(shell, script)) {
      EXPECT_EQ(*result, 0) << shell;
    }
    for (const Command& command : commands()) {
      for (const Flag& flag : command.flags) {
        EXPECT_THAT(script, HasSubstr(std::string(flag.name.substr(2))))
            << shell << " " << command.name;
      }
    }
  }
}

/// What bash offers at the end of a line.
std::string bash_offers(const std::string& words, int at) {
  const std::string path = ::testing::TempDir() + "berth-try.bash";
  std::ofstream(path) << bash_completion() << "COMP_WORDS=(" << words << "); COMP_CWORD=" << at
                      << "\n_berth\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
  std::string out;
  FILE* pipe = popen(("bash '" + path + "' 2>/dev/null").c_str(), "r");
  char buffer[512];
  while (pipe != nullptr && fgets(buffer, sizeof buffer, pipe) != nullptr) {
    out += buffer;
  }
  if (pipe != nullptr) {
    pclose(pipe);
  }
  return out;
}

TEST(Completion, BashOffersWhatFits) {
  if (std::system("command -v bash >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "no bash here";
  }
  EXPECT_THAT(bash_offers("berth ''", 1), HasSubstr("run\n"));
  EXPECT_EQ(bash_offers("berth hard", 1), "hardware\n");
  EXPECT_EQ(bash_offers("berth hardware s", 2), "show\n");
  EXPECT_EQ(bash_offers("berth run --speed ''", 3), "virtual\nreal\n");
  EXPECT_THAT(bash_offers("berth run --nodes dgx-h1", 3), HasSubstr("dgx-h100:\n"));
  EXPECT_EQ(bash_offers("berth run --exit", 2), "--exit-code\n");
  EXPECT_THAT(bash_offers("berth hardware show ''", 3), HasSubstr("l40s-pcie-8\n"));
  EXPECT_EQ(bash_offers("berth completion z", 2), "zsh\n");
}

TEST(Hardware, ListAndShow) {
  const test::Outcome list = test::berth({"hardware", "list"});
  EXPECT_EQ(list.code, 0);
  EXPECT_THAT(list.out, HasSubstr("dgx-h100"));
  EXPECT_THAT(list.out, HasSubstr("ALL-REDUCE"));
  EXPECT_THAT(test::berth({"hardware", "list", "--no-headers"}).out, Not(HasSubstr("ALL-REDUCE")));
  EXPECT_THAT(test::berth({"hardware", "list", "-o", "name"}).out, HasSubstr("t4-pcie-1\n"));
  berth::testing::expect_golden("src/berth/cli/testdata/hardware-list.txt", list.out);
  berth::testing::expect_golden("src/berth/cli/testdata/hardware-show-dgx-h100.txt",
                                test::berth({"hardware", "show", "dgx-h100"}).out);
}

TEST(Hardware, AnUnknownPlatformIsAnErrorWithASuggestion) {
  const test::Outcome o = test::berth({"hardware", "show", "dgx-h10"});
  EXPECT_EQ(o.code, 1);
  EXPECT_EQ(
      o.err,
      "error: unknown platform \"dgx-h10\", did you mean dgx-h100?; try berth hardware list\n");
}

TEST(Color, AlwaysColoursEvenAPipe) {
  EXPECT_THAT(test::berth({"hardware", "list", "--color", "always"}).out, HasSubstr("\x1b["));
  EXPECT_THAT(test::berth({"hardware", "list"}).out, Not(HasSubstr("\x1b[")));
}

} // namespace
} // namespace berth::cli
