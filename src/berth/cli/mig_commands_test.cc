#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/berth_run.h"

namespace berth::cli {
namespace {

using ::testing::HasSubstr;

TEST(MigCommands, PlanShowsPlacesAndWhatIsLeft) {
  const test::Outcome o =
      test::berth({"mig", "plan", "--card", "A100-40GB", "--want", "3g.20gb=1,1g.5gb=2"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("card 0  A100-40GB  [..abcccc]  room for 1 x 2g.10gb or"));
  EXPECT_THAT(o.out, HasSubstr("3g.20gb"));
}

TEST(MigCommands, WhatDoesNotFitSaysOnHowManyCardsItWould) {
  const test::Outcome o = test::berth(
      {"mig", "plan", "--card", "A100-40GB", "--want", "1g.5gb=5,3g.20gb=1", "--cards", "1"});
  EXPECT_EQ(o.code, 3);
  EXPECT_EQ(o.err, "error: A100-40GB: these instances do not fit on 1 card; try --cards 2\n");
}

TEST(MigCommands, WithoutANumberOfCardsAsManyAreTakenAsNeeded) {
  const test::Outcome two =
      test::berth({"mig", "plan", "--card", "A100-40GB", "--want", "1g.5gb=5,3g.20gb=1"});
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_THAT(two.out, HasSubstr("card 1  A100-40GB"));
  EXPECT_THAT(two.out, ::testing::Not(HasSubstr("card 2")));
  const test::Outcome fleet =
      test::berth({"mig", "plan", "--card", "A100-40GB", "--want", "7g.40gb=17"});
  EXPECT_THAT(fleet.out, HasSubstr("card 16  A100-40GB"));
}

TEST(MigCommands, PlansAreConfigurationsOfMigParted) {
  const test::Outcome o = test::berth({"mig", "plan", "--card", "A100-40GB", "--want", "1g.5gb=7",
                                       "-o", "mig-parted", "--name", "mine"});
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

// A configuration's name is a node label's value and a key in YAML.
TEST(MigCommands, AConfigurationIsNamedSoThatALabelCanChooseIt) {
  const auto named = [](const std::string& name) {
    return test::berth({"mig", "plan", "--card", "A100-40GB", "--want", "1g.5gb=7", "-o",
                        "mig-parted", "--name", name});
  };
  EXPECT_THAT(named("all-1g.5gb").out, HasSubstr("\n  all-1g.5gb:\n"));
  for (const std::string name : {"true", "1", "1e3", "null", "yes", "0x1F"}) {
    EXPECT_THAT(named(name).out, HasSubstr("\n  \"" + name + "\":\n"));
  }
  for (const std::string& name :
       {std::string("a: b"), std::string("a #b"), std::string("- x"), std::string(""),
        std::string("a\nb"), std::string("-a"), std::string("a."), std::string(64, 'a')}) {
    const test::Outcome o = named(name);
    EXPECT_EQ(o.code, 2) << name;
    EXPECT_EQ(o.out, "");
    EXPECT_THAT(o.err, HasSubstr("--name: want a label's value"));
  }
}

TEST(MigCommands, SayWhatIsWrong) {
  EXPECT_EQ(test::berth({"mig", "plan", "--card", "A100-40GB"}).code, 2);
  EXPECT_EQ(
      test::berth({"mig", "plan", "--card", "A100-40GB", "--want", "1g.5gb", "--cards", "0"}).code,
      2);
  const test::Outcome card = test::berth({"mig", "plan", "--card", "A100-40G", "--want", "1g.5gb"});
  EXPECT_EQ(card.code, 1);
  EXPECT_THAT(card.err, HasSubstr("did you mean A100-40GB?"));
  const test::Outcome profile =
      test::berth({"mig", "plan", "--card", "A100-40GB", "--want", "1g.6gb"});
  EXPECT_EQ(profile.code, 1);
  EXPECT_THAT(profile.err, HasSubstr("has no profile \"1g.6gb\""));
}

TEST(MigCommands, ShowPrintsProfilesAndPlacements) {
  EXPECT_THAT(test::berth({"mig", "show"}).out, HasSubstr("RTX-PRO-6000-96GB"));
  EXPECT_THAT(test::berth({"mig", "show", "NVIDIA-H200"}).out, HasSubstr("{0,4}:4"));
  EXPECT_THAT(test::berth({"mig", "show", "NVIDIA A800 80GB PCIe"}).out, HasSubstr("7g.80gb"));
  EXPECT_EQ(test::berth({"mig", "show", "T4"}).code, 1);
}

} // namespace
} // namespace berth::cli
