#include "berth/topology/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/numa_machines.h"

namespace berth::topology {
namespace {

using ::testing::StartsWith;

Hint on(std::vector<int> nodes, bool preferred) {
  return {.affinity = NumaMask::of(nodes), .preferred = preferred};
}
using Providers = std::vector<std::vector<ResourceHints>>;
Providers of(std::vector<std::vector<Hint>> lists) {
  Providers providers;
  for (auto& list : lists) {
    providers.push_back({{.resource = "x", .hints = std::move(list)}});
  }
  return providers;
}

struct Case {
  const char* name;
  Policy policy;
  Providers providers;
  bool admitted;
  Hint hint;
};
class Policies : public ::testing::TestWithParam<Case> {};

TEST_P(Policies, Decide) {
  const Machine machine = test::numa_machine({});
  const Alignment got = align(GetParam().providers, {.policy = GetParam().policy}, machine);
  EXPECT_EQ(got.admitted, GetParam().admitted);
  EXPECT_EQ(got.hint, GetParam().hint);
}

const Providers kAgree = of({{on({0}, true), on({0, 1}, false)}, {on({0}, true)}});
const Providers kTwoNodes = of({{on({0, 1}, true)}});
const Providers kSpread = of({{on({0, 1}, false)}});
const Providers kApart = of({{on({0}, true)}, {on({1}, true)}});

INSTANTIATE_TEST_SUITE_P(
    All, Policies,
    ::testing::Values(
        Case{"NoneLooksAtNothing", Policy::None, kApart, true, {}},
        Case{"BestEffortTakesAgreement", Policy::BestEffort, kAgree, true, on({0}, true)},
        Case{"BestEffortTakesAnything", Policy::BestEffort, kApart, true, on({0, 1}, false)},
        Case{"RestrictedTakesAgreement", Policy::Restricted, kAgree, true, on({0}, true)},
        Case{"RestrictedTakesTwoNodesThatAreNeeded", Policy::Restricted, kTwoNodes, true,
             on({0, 1}, true)},
        Case{"RestrictedRefusesASpreadThatIsNotNeeded", Policy::Restricted, kSpread, false,
             on({0, 1}, false)},
        Case{"RestrictedRefusesDisagreement", Policy::Restricted, kApart, false, on({0, 1}, false)},
        Case{"SingleTakesAgreement", Policy::SingleNumaNode, kAgree, true, on({0}, true)},
        Case{"SingleRefusesTwoNodes",
             Policy::SingleNumaNode,
             kTwoNodes,
             false,
             {.affinity = {}, .preferred = false}},
        Case{"SingleLetsInWhoDoesNotCare",
             Policy::SingleNumaNode,
             {{}, {}},
             true,
             {.affinity = {}, .preferred = true}}),
    [](const auto& each) { return each.param.name; });

TEST(Policies, OnAMachineOfOneNodeSingleHasNoHint) {
  const Machine machine = test::numa_machine({.sockets = 1});
  const Alignment got = align(of({{on({0}, true)}}), {.policy = Policy::SingleNumaNode}, machine);
  EXPECT_TRUE(got.admitted);
  EXPECT_EQ(got.hint.affinity, std::nullopt);
}

TEST(Policies, HaveTheKubeletsNames) {
  for (const Policy policy :
       {Policy::None, Policy::BestEffort, Policy::Restricted, Policy::SingleNumaNode}) {
    EXPECT_EQ(parse_policy(to_string(policy)).value(), policy);
  }
  EXPECT_THAT(parse_policy("strict").error().message, StartsWith("unknown policy: \"strict\""));
  EXPECT_EQ(parse_scope("pod").value(), Scope::Pod);
  EXPECT_EQ(parse_scope("container").value(), Scope::Container);
  EXPECT_THAT(parse_scope("node").error().message, StartsWith("unknown scope: \"node\""));
}

TEST(PolicyOptions, AreReadFromTexts) {
  const auto options = parse_policy_options(
      {{"prefer-closest-numa-nodes", "true"}, {"max-allowable-numa-nodes", "34"}});
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->prefer_closest_numa_nodes);
  EXPECT_EQ(options->max_allowable_numa_nodes, 34);
  EXPECT_EQ(parse_policy_options({}).value(), PolicyOptions());
}

TEST(PolicyOptions, SayWhatIsWrong) {
  EXPECT_EQ(parse_policy_options({{"max-allowable-numa-nodes", "7"}}).error().message,
            "the minimum value of \"max-allowable-numa-nodes\" should not be less than 8");
  EXPECT_THAT(
      parse_policy_options({{"max-allowable-numa-nodes", "many"}}).error().message,
      StartsWith("unable to convert policy option to integer \"max-allowable-numa-nodes\""));
  EXPECT_THAT(parse_policy_options({{"prefer-closest-numa-nodes", "perhaps"}}).error().message,
              StartsWith("bad value for option \"prefer-closest-numa-nodes\""));
  EXPECT_THAT(parse_policy_options({{"closest", "true"}}).error().message,
              StartsWith("unknown Topology Manager Policy option: \"closest\""));
}

TEST(CheckMachine, RefusesMoreNodesThanAllowed) {
  const Machine machine = test::gb200_machine();
  EXPECT_THAT(check_machine({.policy = Policy::Restricted}, machine).error().message,
              StartsWith("unsupported on machines with more than 8 NUMA Nodes"));
  EXPECT_TRUE(check_machine({.policy = Policy::None}, machine));
  EXPECT_TRUE(check_machine(
      {.policy = Policy::Restricted, .options = {.max_allowable_numa_nodes = 34}}, machine));
}

TEST(Misalignment, HasTheKubeletsWords) {
  EXPECT_EQ(misalignment_message(Scope::Container),
            "Resources cannot be allocated with Topology locality");
  EXPECT_EQ(misalignment_message(Scope::Pod),
            "Pod Scope Resources cannot be allocated with Topology locality");
}

} // namespace
} // namespace berth::topology
