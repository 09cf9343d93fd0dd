// BalancedAllocation, ImageLocality and NodePorts.
#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/sched/plugins/balanced_allocation.h"
#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::node;
using test::pod;
using test::profile_of;
using test::SchedulingWorld;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr std::int64_t kMiB = 1024 * 1024;

TEST(Balance, FallsWithTheDeviationOfShares) {
  EXPECT_EQ(balance(std::array{0.5, 0.5}), 100);
  EXPECT_EQ(balance(std::array{0.0, 1.0}), 50);
  EXPECT_EQ(balance(std::array{0.25, 0.75}), 75);
  EXPECT_EQ(balance(std::array{0.3}), 100);
  EXPECT_EQ(balance(std::span<const double>()), 100);
  // Mean 0.5, population deviation sqrt((0.25 + 0 + 0.25) / 3) = 0.408.
  EXPECT_EQ(balance(std::array{0.0, 0.5, 1.0}), 59);
}

TEST(BalancedAllocation, Before136ScoresTheNodeWithThePod) {
  SchedulingWorld world(profile_of("NodeResourcesBalancedAllocation", nullptr, {.minor = 34}));
  world.with(node("a").cpu("10").memory("10Gi")).with(node("b").cpu("10").memory("10Gi"));
  world.with(pod("r").cpu("5").memory("1Gi"), "b");
  // a: shares 0.1 and 0.5; b: 0.6 and 0.6.
  EXPECT_THAT(world.scores(pod("p").cpu("1").memory("5Gi"), "NodeResourcesBalancedAllocation"),
              ElementsAre(Pair("a", 80), Pair("b", 100)));
}

TEST(BalancedAllocation, Since136ScoresTheChange) {
  SchedulingWorld world(profile_of("NodeResourcesBalancedAllocation", nullptr, {.minor = 36}));
  world.with(node("a").cpu("10").memory("10Gi")).with(node("b").cpu("10").memory("10Gi"));
  world.with(pod("r").cpu("5").memory("1Gi"), "b");
  // a: 80 with, 100 without; b: 100 with, 80 without.
  EXPECT_THAT(world.scores(pod("p").cpu("1").memory("5Gi"), "NodeResourcesBalancedAllocation"),
              ElementsAre(Pair("a", 65), Pair("b", 85)));
}

TEST(BalancedAllocation, SkipsPodsThatAskForNothing) {
  SchedulingWorld world(profile_of("NodeResourcesBalancedAllocation"));
  world.with(node("a")).with(node("b"));
  EXPECT_THAT(world.scores(pod("p"), "NodeResourcesBalancedAllocation"), IsEmpty());
}

TEST(BalancedAllocation, CountsNoMoreThanAllOfAResource) {
  SchedulingWorld world(profile_of("NodeResourcesBalancedAllocation", nullptr, {.minor = 34}));
  world.with(node("a").cpu("1").memory("1Gi")).with(node("b").cpu("1").memory("1Gi"));
  EXPECT_THAT(world.scores(pod("p").cpu("4").memory("1Gi"), "NodeResourcesBalancedAllocation"),
              ElementsAre(Pair("a", 100), Pair("b", 100)));
}

TEST(BalancedAllocation, TakesOtherResourcesOnlyIfThePodAsks) {
  const auto args = api::parse_json(
      R"({"resources": [{"name": "cpu", "weight": 1}, {"name": "nvidia.com/gpu", "weight": 1}]})");
  SchedulingWorld world(profile_of("NodeResourcesBalancedAllocation", *args, {.minor = 34}));
  world.with(node("a").cpu("10").gpus(10)).with(node("b").cpu("10").gpus(2));
  EXPECT_THAT(world.scores(pod("p").cpu("1").gpus(1), "NodeResourcesBalancedAllocation"),
              ElementsAre(Pair("a", 100), Pair("b", 80)));
  EXPECT_THAT(world.scores(pod("q").cpu("1"), "NodeResourcesBalancedAllocation"),
              ElementsAre(Pair("a", 100), Pair("b", 100)));
}

TEST(BalancedAllocation, WeightsMustBeOne) {
  const auto args = parse_balanced_allocation_args(
      *api::parse_json(R"({"resources": [{"name": "cpu", "weight": 2}]})"));
  ASSERT_FALSE(args);
  EXPECT_THAT(to_string(args.error()),
              HasSubstr("resources[0].weight: Invalid value: 2: must be 1"));
}

// ---- images
// ---------------------------------------------------------------------------------------------

TEST(NormalisedImage, GetsATagIfItHasNone) {
  EXPECT_EQ(normalised_image("nginx"), "nginx:latest");
  EXPECT_EQ(normalised_image("nginx:1.27"), "nginx:1.27");
  EXPECT_EQ(normalised_image("registry:5000/nginx"), "registry:5000/nginx:latest");
  EXPECT_EQ(normalised_image("registry:5000/nginx:1"), "registry:5000/nginx:1");
  EXPECT_EQ(normalised_image("nginx@sha256:abc"), "nginx@sha256:abc");
}

TEST(ImageLocality, ScoresSizeTimesSpreadBetweenThresholds) {
  SchedulingWorld world(profile_of("ImageLocality"));
  world.with(node("has").image("train:latest", 1000 * kMiB)).with(node("bare"));
  // 1000 MiB on one of two nodes counts 500 MiB: 100 * (500 - 23) / (1000 - 23) = 48.
  EXPECT_THAT(world.scores(pod("p").image("train"), "ImageLocality"),
              ElementsAre(Pair("bare", 0), Pair("has", 48)));
}

TEST(ImageLocality, SmallImagesDoNotCount) {
  SchedulingWorld world(profile_of("ImageLocality"));
  world.with(node("has").image("tiny:latest", 20 * kMiB)).with(node("bare"));
  EXPECT_THAT(world.scores(pod("p").image("tiny"), "ImageLocality"),
              ElementsAre(Pair("bare", 0), Pair("has", 0)));
}

TEST(ImageLocality, HugeImagesAreCapped) {
  SchedulingWorld world(profile_of("ImageLocality"));
  world.with(node("a").image("huge:1", 90000 * kMiB)).with(node("b").image("huge:1", 90000 * kMiB));
  EXPECT_THAT(world.scores(pod("p").image("huge:1"), "ImageLocality"),
              ElementsAre(Pair("a", 100), Pair("b", 100)));
}

// ---- ports
// ----------------------------------------------------------------------------------------------

struct PortCase {
  std::string name;
  test::PodBuilder running;
  test::PodBuilder pod;
  std::string want;
};
void PrintTo(const PortCase& c, std::ostream* out) {
  *out << c.name;
}

class NodePortsFilter : public testing::TestWithParam<PortCase> {};

TEST_P(NodePortsFilter, GivesTheVerdict) {
  SchedulingWorld world(profile_of("NodePorts"));
  world.with(node("n")).with(GetParam().running, "n");
  EXPECT_THAT(world.verdicts(GetParam().pod), ElementsAre(Pair("n", GetParam().want)));
}

const char* const kTaken =
    "Unschedulable: node(s) didn't have free ports for the requested pod ports";

INSTANTIATE_TEST_SUITE_P(
    Rules, NodePortsFilter,
    testing::Values(PortCase{"NoPorts", pod("r").host_port(80), pod("p"), "ok"},
                    PortCase{"SamePort", pod("r").host_port(80), pod("p").host_port(80), kTaken},
                    PortCase{"OtherPort", pod("r").host_port(80), pod("p").host_port(81), "ok"},
                    PortCase{"OtherProtocol", pod("r").host_port(80), pod("p").host_port(80, "UDP"),
                             "ok"},
                    PortCase{"OtherIp", pod("r").host_port(80, "TCP", "10.0.0.1"),
                             pod("p").host_port(80, "TCP", "10.0.0.2"), "ok"},
                    PortCase{"SameIp", pod("r").host_port(80, "TCP", "10.0.0.1"),
                             pod("p").host_port(80, "TCP", "10.0.0.1"), kTaken},
                    PortCase{"AnyIpInUse", pod("r").host_port(80),
                             pod("p").host_port(80, "TCP", "10.0.0.2"), kTaken},
                    PortCase{"AnyIpWanted", pod("r").host_port(80, "TCP", "10.0.0.1"),
                             pod("p").host_port(80), kTaken},
                    PortCase{"SidecarPort", pod("r").sidecar("s").host_port(80),
                             pod("p").host_port(80), kTaken},
                    PortCase{"InitContainerPort", pod("r").init_container("i").host_port(80),
                             pod("p").host_port(80), "ok"}),
    [](const auto& each) { return each.param.name; });

TEST(NodePorts, IsWokenByAPodThatHeldThePort) {
  SchedulingWorld world(profile_of("NodePorts"));
  const auto waiting = world.describe(pod("p").host_port(80));
  const auto hint = [&](const ClusterEvent& event) {
    return world.framework().hint("NodePorts", *waiting, event);
  };
  EXPECT_EQ(hint(assigned_pod_deleted(world.describe(pod("r").host_port(80)))), Hint::Queue);
  EXPECT_EQ(hint(assigned_pod_deleted(world.describe(pod("r").host_port(81)))), Hint::Skip);
  EXPECT_EQ(hint(node_added(node("n").build())), Hint::Queue);
}

} // namespace
} // namespace berth::sched
