#include "berth/cli/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using ::testing::ElementsAre;

Command example() {
  return {
      .name = "try",
      .summary = "try something",
      .synopsis = {"FILE..."},
      .description = {},
      .arguments = {{.name = "MODE", .choices = {"fast", "slow"}},
                    {.name = "FILE", .need = Argument::Need::OneOrMore}},
      .flags = {{.name = "--filename", .letter = 'f', .value = "FILE", .times = Flag::Times::Many},
                {.name = "--nodes", .value = "PLATFORM:COUNT", .times = Flag::Times::Many},
                {.name = "--seed", .value = "N"},
                {.name = "--speed", .value = "SPEED", .choices = {"real", "virtual"}},
                {.name = "--quiet", .letter = 'q'}}};
}

Result<Values> parse(std::vector<std::string> words) {
  return parse_command_line(example(), words);
}

std::string error_of(std::vector<std::string> words) {
  const auto values = parse(std::move(words));
  return values ? "accepted" : values.error().message;
}

TEST(Parse, ReadsEveryWayToWriteAFlag) {
  const auto values = parse({"-f", "a.yaml", "fast", "-fb.yaml", "--filename", "c.yaml", "x",
                             "--filename=d.yaml", "-q", "y"});
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_THAT(values->all("--filename"), ElementsAre("a.yaml", "b.yaml", "c.yaml", "d.yaml"));
  EXPECT_THAT(values->arguments, ElementsAre("fast", "x", "y"));
  EXPECT_TRUE(values->has("--quiet"));
  EXPECT_FALSE(values->has("--seed"));
}

TEST(Parse, AFlagTakesOneValueAtATime) {
  const auto values = parse({"--nodes", "dgx-h100:4", "slow", "--nodes", "t4-pcie-1:2", "x"});
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_THAT(values->all("--nodes"), ElementsAre("dgx-h100:4", "t4-pcie-1:2"));
  EXPECT_THAT(values->arguments, ElementsAre("slow", "x"));
}

TEST(Parse, TheLastValueWins) {
  const auto values = parse({"fast", "x", "--seed", "1", "--seed", "2"});
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(values->get("--seed", "7"), "2");
  EXPECT_EQ(values->get("--speed", "virtual"), "virtual");
}

TEST(Parse, ADashAloneIsAValue) {
  const auto values = parse({"-f", "-", "fast", "x"});
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_THAT(values->all("--filename"), ElementsAre("-"));
}

TEST(Parse, AfterTwoDashesEverythingIsAnArgument) {
  const auto values = parse({"fast", "--", "--seed"});
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_THAT(values->arguments, ElementsAre("fast", "--seed"));
  EXPECT_FALSE(values->has("--seed"));
}

TEST(Parse, ASwitchMayBeSwitchedOff) {
  EXPECT_TRUE(parse({"fast", "x", "--quiet=true"})->has("--quiet"));
  EXPECT_FALSE(parse({"fast", "x", "--quiet=false"})->has("--quiet"));
  EXPECT_EQ(parse({"fast", "x", "-v", "-v"})->all("--verbose").size(), 2U);
  EXPECT_EQ(parse({"fast", "x", "-qv"})->all("--verbose").size(), 1U);
}

TEST(Parse, HelpNeedsNothingElse) {
  const auto values = parse({"--help"});
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_TRUE(values->has("--help"));
}

struct Case {
  const char* name;
  std::vector<std::string> words;
  const char* error;
};

class ParseErrors : public ::testing::TestWithParam<Case> {};

TEST_P(ParseErrors, NameWhatIsWrong) {
  EXPECT_EQ(error_of(GetParam().words), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ParseErrors,
    ::testing::Values(
        Case{"misspelt",
             {"fast", "x", "--node", "dgx-h100"},
             "unknown flag --node, did you mean --nodes?"},
        Case{"misspelt_with_value",
             {"fast", "x", "--sede=4"},
             "unknown flag --sede, did you mean --seed?"},
        Case{"unknown", {"fast", "x", "--frobnicate"}, "unknown flag --frobnicate"},
        Case{"unknown_letter", {"fast", "x", "-z"}, "unknown flag -z"},
        Case{"no_value", {"fast", "x", "--seed"}, "--seed needs a value: N"},
        Case{"no_value_short", {"fast", "x", "-f"}, "--filename needs a value: FILE"},
        Case{"no_value_before_a_flag",
             {"fast", "x", "--seed", "--quiet"},
             "--seed needs a value: N"},
        Case{"switch_with_value",
             {"fast", "x", "--quiet=yes"},
             "--quiet: want true or false, got \"yes\""},
        Case{"bad_choice",
             {"fast", "x", "--speed", "warp"},
             "--speed: want real or virtual, got \"warp\""},
        Case{"bad_argument", {"medium", "x"}, "MODE: want fast or slow, got \"medium\""},
        Case{"missing_argument", {"fast"}, "FILE is missing"},
        Case{"missing_both", {}, "MODE is missing"}),
    [](const auto& c) { return c.param.name; });

TEST(Parse, ACommandWithoutArgumentsTakesNone) {
  const Command bare{.name = "version", .summary = "", .synopsis = {}, .description = {}};
  const std::vector<std::string> words = {"now"};
  const auto values = parse_command_line(bare, words);
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().message, "unexpected argument \"now\"");
}

} // namespace
} // namespace berth::cli
