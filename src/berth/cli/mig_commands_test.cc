#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/cli/app.h"

namespace berth::cli {
namespace {

using ::testing::HasSubstr;

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

Outcome run(const std::vector<std::string>& words) {
  std::ostringstream out;
  std::ostringstream err;
  Terminal terminal{.out = {.to = &out}, .err = {.to = &err}};
  const int code =
      run_program(words, terminal, [](const char*) { return std::optional<std::string>(); });
  return {code, out.str(), err.str()};
}

TEST(MigCommands, PlanShowsPlacesAndWhatIsLeft) {
  const Outcome o = run({"mig", "plan", "--card", "A100-40GB", "--want", "3g.20gb=1,1g.5gb=2"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("card 0  A100-40GB  [..abcccc]  room for 1 x 2g.10gb or"));
  EXPECT_THAT(o.out, HasSubstr("3g.20gb"));
}

TEST(MigCommands, WhatDoesNotFitSaysOnHowManyCardsItWould) {
  const Outcome o = run({"mig", "plan", "--card", "A100-40GB", "--want", "1g.5gb=5,3g.20gb=1"});
  EXPECT_EQ(o.code, 3);
  EXPECT_EQ(o.err, "error: A100-40GB: these instances do not fit on 1 card; try --cards 2\n");
  EXPECT_EQ(run({"mig", "plan", "--card", "A100-40GB", "--want", "7g.40gb=17"}).code, 3);
}

TEST(MigCommands, PlansAreConfigurationsOfMigParted) {
  const Outcome o = run({"mig", "plan", "--card", "A100-40GB", "--want", "1g.5gb=7", "-o",
                         "mig-parted", "--name", "mine"});
  EXPECT_EQ(o.out, "version: v1\n"
                   "mig-configs:\n"
                   "  mine:\n"
                   "  - device-filter: [\"0x20B010DE\", \"0x20B110DE\", \"0x20F110DE\", "
                   "\"0x20F610DE\"]\n"
                   "    devices: [0]\n"
                   "    mig-enabled: true\n"
                   "    mig-devices:\n"
                   "      \"1g.5gb\": 7\n");
}

TEST(MigCommands, SayWhatIsWrong) {
  EXPECT_EQ(run({"mig", "plan", "--card", "A100-40GB"}).code, 2);
  EXPECT_EQ(run({"mig", "plan", "--card", "A100-40GB", "--want", "1g.5gb", "--cards", "0"}).code,
            2);
  const Outcome card = run({"mig", "plan", "--card", "A100-40G", "--want", "1g.5gb"});
  EXPECT_EQ(card.code, 1);
  EXPECT_THAT(card.err, HasSubstr("did you mean A100-40GB?"));
  const Outcome profile = run({"mig", "plan", "--card", "A100-40GB", "--want", "1g.6gb"});
  EXPECT_EQ(profile.code, 1);
  EXPECT_THAT(profile.err, HasSubstr("has no profile \"1g.6gb\""));
}

TEST(MigCommands, ShowPrintsProfilesAndPlacements) {
  EXPECT_THAT(run({"mig", "show"}).out, HasSubstr("RTX-PRO-6000-96GB"));
  EXPECT_THAT(run({"mig", "show", "NVIDIA-H200"}).out, HasSubstr("{0,4}:4"));
  EXPECT_EQ(run({"mig", "show", "T4"}).code, 1);
}

} // namespace
} // namespace berth::cli
