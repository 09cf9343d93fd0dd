#include "berth/topology/cpu_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/numa_machines.h"

namespace berth::topology {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CpuOptions, AreReadFromTexts) {
  const auto options =
      parse_cpu_options({{"full-pcpus-only", "true"}, {"align-by-socket", "True"}});
  ASSERT_TRUE(options);
  EXPECT_EQ(*options, (CpuOptions{.full_pcpus_only = true, .align_by_socket = true}));
  EXPECT_EQ(parse_cpu_options({{"strict-cpu-reservation", "1"},
                               {"distribute-cpus-across-numa", "t"},
                               {"prefer-align-cpus-by-uncorecache", "false"},
                               {"distribute-cpus-across-cores", "0"}})
                .value(),
            (CpuOptions{.strict_cpu_reservation = true, .distribute_cpus_across_numa = true}));
}

struct Bad {
  const char* name;
  OptionTexts texts;
  const char* message;
};
class BadOptions : public ::testing::TestWithParam<Bad> {};

TEST_P(BadOptions, SayWhatIsWrong) {
  const auto read = parse_cpu_options(GetParam().texts);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, StartsWith(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadOptions,
    ::testing::Values(
        Bad{"Unknown", {{"full-cores", "true"}}, "unsupported cpumanager option: \"full-cores\""},
        Bad{"NoFlag", {{"full-pcpus-only", "yes"}}, "bad value for option \"full-pcpus-only\""},
        Bad{"CoresWholeAndSpread",
            {{"full-pcpus-only", "true"}, {"distribute-cpus-across-cores", "true"}},
            "static policy options full-pcpus-only and distribute-cpus-across-cores can not be "
            "used at the same time"},
        Bad{"CachesAndCores",
            {{"prefer-align-cpus-by-uncorecache", "true"},
             {"distribute-cpus-across-cores", "true"}},
            "static policy options prefer-align-cpus-by-uncorecache and "
            "distribute-cpus-across-cores can not be used at the same time"},
        Bad{"CachesAndNuma",
            {{"prefer-align-cpus-by-uncorecache", "true"}, {"distribute-cpus-across-numa", "true"}},
            "static policy options prefer-align-cpus-by-uncorecache and "
            "distribute-cpus-across-numa can not be used at the same time"}),
    [](const auto& each) { return each.param.name; });

TEST(CpuRules, MustSuitTheMachine) {
  const Machine machine = test::numa_machine({});
  const auto why = [&](const CpuRules& rules, Policy policy = Policy::Restricted) {
    const auto checked = check_cpu_rules(rules, policy, machine);
    return checked ? "" : checked.error().message;
  };
  EXPECT_EQ(why({}), "");
  EXPECT_EQ(why({.policy = CpuPolicy::Static, .reserved = CpuSet{0}}), "");
  EXPECT_THAT(why({.policy = CpuPolicy::Static}), HasSubstr("to be greater than zero"));
  EXPECT_THAT(why({.policy = CpuPolicy::Static, .reserved = CpuSet{0, 99}}),
              HasSubstr("does not have: 99"));
  EXPECT_EQ(why({.policy = CpuPolicy::Static,
                 .options = {.align_by_socket = true},
                 .reserved = CpuSet{0}},
                Policy::SingleNumaNode),
            "topology manager single-numa-node policy is incompatible with CPUManager "
            "align-by-socket policy option");
  EXPECT_FALSE(check_cpu_rules({.policy = CpuPolicy::Static, .reserved = CpuSet{0}}, Policy::None,
                               Machine()));
}

TEST(ReserveCpus, TakesWholeCoresWithLowNumbers) {
  const Machine machine = test::numa_machine({});
  EXPECT_EQ(reserve_cpus(machine, 2, {})->to_string(), "0,8");
  EXPECT_EQ(reserve_cpus(machine, 3, {})->to_string(), "0-1,8");
  EXPECT_THAT(reserve_cpus(machine, 17, {}).error().message,
              StartsWith("[cpumanager] unable to reserve the required amount of CPUs"));
}

TEST(CpuPolicies, HaveTheKubeletsNames) {
  EXPECT_EQ(parse_cpu_policy("static").value(), CpuPolicy::Static);
  EXPECT_EQ(parse_cpu_policy("none").value(), CpuPolicy::None);
  EXPECT_THAT(parse_cpu_policy("Static").error().message, StartsWith("unknown policy"));
  EXPECT_EQ(to_string(CpuPolicy::Static), "static");
}

} // namespace
} // namespace berth::topology
