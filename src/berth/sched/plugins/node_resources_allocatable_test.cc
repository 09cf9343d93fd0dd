#include "berth/sched/plugins/node_resources_allocatable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::json_of;
using test::node;
using test::pod;
using test::profile_of;
using test::SchedulingWorld;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::map<std::string, std::int64_t> scores(std::string_view args) {
  SchedulingWorld world(profile_of(kNodeResourcesAllocatable, json_of(args)));
  world.with(node("large").cpu("16").memory("16Gi"))
      .with(node("middle").cpu("7").memory("16Gi"))
      .with(node("small").cpu("4").memory("16Gi"));
  world.with(pod("r").cpu("3"), "small");
  return world.scores(pod("p").cpu("1"), kNodeResourcesAllocatable);
}

TEST(NodeResourcesAllocatable, LeastPrefersSmallNodes) {
  // By cpu alone, what is in use does not count: (16 - 7) / (16 - 4) of 100.
  EXPECT_THAT(scores(R"({"mode": "Least", "resources": [{"name": "cpu", "weight": 1}]})"),
              ElementsAre(Pair("large", 0), Pair("middle", 75), Pair("small", 100)));
  EXPECT_THAT(scores(R"({})"),
              ElementsAre(Pair("large", 0), Pair("middle", 75), Pair("small", 100)))
      << "memory is the same everywhere";
}

TEST(NodeResourcesAllocatable, MostPrefersLargeNodes) {
  EXPECT_THAT(scores(R"({"mode": "Most"})"),
              ElementsAre(Pair("large", 100), Pair("middle", 25), Pair("small", 0)));
}

TEST(NodeResourcesAllocatable, NodesThatAreAlikeGetNothing) {
  EXPECT_THAT(scores(R"({"resources": [{"name": "memory", "weight": 1}]})"),
              Each(Pair(testing::_, 0)));
  EXPECT_THAT(scores(R"({"resources": [{"name": "example.com/unheard-of", "weight": 1}]})"),
              Each(Pair(testing::_, 0)));
}

TEST(NodeResourcesAllocatable, LargeWeightsDoNotOverflow) {
  EXPECT_THAT(scores(R"({"resources": [{"name": "memory", "weight": 9223372036854775807},
                               {"name": "cpu", "weight": 9223372036854775807}]})"),
              ElementsAre(Pair("large", 0), Pair("middle", 75), Pair("small", 100)));
}

TEST(NodeResourcesAllocatable, RefusesBadArgs) {
  const auto error = [](std::string_view args) {
    const auto made = parse_allocatable_args(json_of(args));
    return made ? std::string() : to_string(made.error());
  };
  EXPECT_THAT(error(R"({"mode": "Medium"})"), HasSubstr("mode: Unsupported value: \"Medium\""));
  EXPECT_THAT(error(R"({"resources": [{"name": "cpu", "weight": -1}]})"),
              HasSubstr("resources[0].weight: Invalid value: -1"));
  EXPECT_THAT(error(R"({"resources": [{"weight": 1}]})"), HasSubstr("resources[0].name"));
  EXPECT_THAT(error(R"({"resource": []})"), HasSubstr("did you mean \"resources\"?"));
}

} // namespace
} // namespace berth::sched
