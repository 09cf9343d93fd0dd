#include "berth/cli/terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using report::ColorUse;

Environment environment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> std::optional<std::string> {
    const auto it = values.find(name);
    return it == values.end() ? std::nullopt : std::optional(it->second);
  };
}

struct Case {
  const char* name;
  ColorChoice choice;
  bool tty;
  std::map<std::string, std::string> env;
  ColorUse want;
};

class Color : public ::testing::TestWithParam<Case> {};

TEST_P(Color, FollowsTheConventions) {
  const Case& c = GetParam();
  EXPECT_EQ(decide_color(c.choice, c.tty, environment(c.env)), c.want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Color,
    ::testing::Values(
        Case{"terminal", ColorChoice::Auto, true, {{"TERM", "xterm"}}, ColorUse::Always},
        Case{"pipe", ColorChoice::Auto, false, {{"TERM", "xterm"}}, ColorUse::Never},
        Case{"no_color", ColorChoice::Auto, true, {{"NO_COLOR", "1"}}, ColorUse::Never},
        Case{"no_color_empty_counts_as_unset",
             ColorChoice::Auto,
             true,
             {{"NO_COLOR", ""}},
             ColorUse::Always},
        Case{"no_color_beats_force",
             ColorChoice::Auto,
             true,
             {{"NO_COLOR", "1"}, {"CLICOLOR_FORCE", "1"}},
             ColorUse::Never},
        Case{"clicolor_off", ColorChoice::Auto, true, {{"CLICOLOR", "0"}}, ColorUse::Never},
        Case{"forced_in_a_pipe",
             ColorChoice::Auto,
             false,
             {{"CLICOLOR_FORCE", "1"}},
             ColorUse::Always},
        Case{"force_zero_forces_nothing",
             ColorChoice::Auto,
             false,
             {{"CLICOLOR_FORCE", "0"}},
             ColorUse::Never},
        Case{"dumb", ColorChoice::Auto, true, {{"TERM", "dumb"}}, ColorUse::Never},
        Case{"the_flag_beats_all",
             ColorChoice::Always,
             false,
             {{"NO_COLOR", "1"}},
             ColorUse::Always},
        Case{"never", ColorChoice::Never, true, {{"CLICOLOR_FORCE", "1"}}, ColorUse::Never}),
    [](const auto& c) { return c.param.name; });

TEST(Terminal, ErrorsSayWhatToTry) {
  std::ostringstream err;
  Terminal terminal{.out = {}, .err = {.to = &err}};
  terminal.error("bad flag", "berth run --help");
  terminal.error("no such file");
  terminal.note("made the namespace a");
  terminal.warn("odd\x1b[2J");
  EXPECT_EQ(
      err.str(),
      "error: bad flag; try berth run --help\nerror: no such file\nnote: made the namespace a\n"
      "warning: odd?[2J\n");
}

TEST(Terminal, AResultThatCannotBeWrittenIsAFailure) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  for (const auto& [before, after] : {std::pair(0, 1), std::pair(3, 3)}) {
    std::ofstream out("/dev/full");
    std::ostringstream err;
    Terminal terminal{.out = {.to = &out}, .err = {.to = &err}};
    out << "a result";
    EXPECT_EQ(finish_output(terminal, full, before), after);
    EXPECT_EQ(err.str(), "error: standard output cannot be written: No space left on device; it is "
                         "not whole\n");
  }
  ::close(full);
}

TEST(Terminal, WhoStopsReadingIsNotComplainedTo) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  std::ostringstream out;
  std::ostringstream err;
  Terminal terminal{.out = {.to = &out}, .err = {.to = &err}};
  EXPECT_EQ(finish_output(terminal, ends[1], 0), 0);
  out.setstate(std::ios::badbit);
  EXPECT_EQ(finish_output(terminal, ends[1], 0), 0);
  EXPECT_EQ(err.str(), "");
  ::close(ends[1]);
}

TEST(Terminal, KnowsThatItIsAKubectlPlugin) {
  EXPECT_EQ(process_terminal("/usr/local/bin/kubectl-berth", environment({})).program,
            "kubectl berth");
  EXPECT_EQ(process_terminal("./build/release/berth", environment({})).program, "berth");
}

} // namespace
} // namespace berth::cli
