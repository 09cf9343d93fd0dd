#include "berth/topology/pod_ask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/pod_builder.h"

namespace berth::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

TEST(PodAsk, OfAGuaranteedPodHasWholeCpusAndMemory) {
  const PodAsk ask = ask_of(*test::pod("a").extended("cpu", "2").extended("memory", "1Gi").build());
  ASSERT_THAT(ask.containers, SizeIs(1));
  EXPECT_EQ(ask.containers[0].cpus, 2);
  EXPECT_THAT(ask.containers[0].memory, ElementsAre(Pair("memory", std::int64_t{1} << 30)));
}

TEST(PodAsk, AFractionIsShared) {
  const PodAsk ask =
      ask_of(*test::pod("a").extended("cpu", "1500m").extended("memory", "1Gi").build());
  EXPECT_EQ(ask.containers[0].cpus, 0);
  EXPECT_THAT(ask.containers[0].memory, SizeIs(1)) << "its memory is its own all the same";
}

TEST(PodAsk, OfAnyOtherPodIsNothing) {
  const PodAsk ask = ask_of(*test::pod("a").cpu("2").memory("1Gi").build());
  EXPECT_TRUE(ask.containers[0].nothing());
}

TEST(PodAsk, KnowsWhoRunsBesideWhom) {
  using Phase = ContainerAsk::Phase;
  const auto part = [](const char* name, Phase phase) {
    return ContainerAsk{.name = name, .phase = phase, .cpus = 1, .memory = {}};
  };
  const PodAsk ask{.pod_uid = "a",
                   .containers = {part("i1", Phase::Init), part("s", Phase::Sidecar),
                                  part("i2", Phase::Init), part("c", Phase::App),
                                  part("d", Phase::App)}};
  EXPECT_FALSE(ask.runs_beside("i1", "s"));
  EXPECT_FALSE(ask.runs_beside("s", "i1"));
  EXPECT_TRUE(ask.runs_beside("s", "i2"));
  EXPECT_TRUE(ask.runs_beside("i2", "s"));
  EXPECT_FALSE(ask.runs_beside("i1", "i2"));
  EXPECT_FALSE(ask.runs_beside("c", "i2"));
  EXPECT_TRUE(ask.runs_beside("c", "d"));
  EXPECT_TRUE(ask.runs_beside("c", "s"));
  EXPECT_TRUE(ask.runs_beside("c", "nobody knows it")) << "to be on the safe side";
}

struct Total {
  const char* name;
  std::vector<std::pair<ContainerAsk::Phase, int>> parts;
  std::int64_t want;
};
class Totals : public ::testing::TestWithParam<Total> {};

TEST_P(Totals, AreTheMostAtATime) {
  PodAsk ask;
  for (const auto& [phase, cpus] : GetParam().parts) {
    ask.containers.push_back({.name = {}, .phase = phase, .cpus = cpus, .memory = {}});
  }
  EXPECT_EQ(pod_cpus(ask), GetParam().want);
}

constexpr auto kInit = ContainerAsk::Phase::Init;
constexpr auto kSidecar = ContainerAsk::Phase::Sidecar;
constexpr auto kApp = ContainerAsk::Phase::App;

INSTANTIATE_TEST_SUITE_P(
    All, Totals,
    ::testing::Values(
        Total{"TheSumOfApps", {{kApp, 2}, {kApp, 3}}, 5},
        Total{"AGreatInit", {{kInit, 8}, {kApp, 3}}, 8},
        Total{"AnInitBesideTheSidecarBeforeIt", {{kSidecar, 2}, {kInit, 4}, {kApp, 3}}, 6},
        Total{"AnInitBeforeTheSidecar", {{kInit, 4}, {kSidecar, 2}, {kApp, 3}}, 5},
        Total{"Nothing", {{kApp, 0}}, 0}),
    [](const auto& each) { return each.param.name; });

TEST(PodMemory, IsPerKind) {
  const PodAsk ask{
      .pod_uid = "a",
      .containers = {{.name = "i", .phase = kInit, .cpus = 0, .memory = {{"memory", 9}}},
                     {.name = "c",
                      .phase = kApp,
                      .cpus = 0,
                      .memory = {{"memory", 4}, {"hugepages-2Mi", 6}}}}};
  EXPECT_THAT(pod_memory(ask), ElementsAre(Pair("hugepages-2Mi", 6), Pair("memory", 9)));
  EXPECT_THAT(pod_memory(PodAsk()), IsEmpty());
}

} // namespace
} // namespace berth::topology
