#include "berth/model/node.h"

#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/testing/builders.h"

namespace berth::model {
namespace {

TEST(Node, IsDecoded) {
  const auto node = test::node("n")
                        .cpu("128")
                        .gpus(8)
                        .label("zone", "a")
                        .taint("gpu", "NoSchedule", "yes")
                        .unschedulable()
                        .image("nginx:1", 1000)
                        .build();
  EXPECT_EQ(node->name(), "n");
  EXPECT_EQ(node->allocatable.at("nvidia.com/gpu").value(), 8);
  EXPECT_EQ(node->capacity.at("cpu").value(), 128);
  EXPECT_EQ(node->taints,
            (std::vector<Taint>{
                {.key = "gpu", .value = "yes", .effect = "NoSchedule", .time_added = {}}}));
  EXPECT_TRUE(node->unschedulable);
  EXPECT_EQ(node->images.at(0).names.at(0), "nginx:1");
  EXPECT_EQ(node->images.at(0).size_bytes, 1000);
  EXPECT_TRUE(node->ready());
  EXPECT_FALSE(test::node("n").not_ready().build()->ready());
  EXPECT_FALSE(test::node("n").condition("Ready", "Unknown").build()->ready());
}

TEST(Node, AllocatableDefaultsToCapacity) {
  const auto node = decode_node(*api::parse_json(R"({"status":{"capacity":{"cpu":"4"}}})"));
  ASSERT_TRUE(node.has_value());
  EXPECT_EQ((*node)->allocatable.at("cpu").value(), 4);
}

TEST(Node, ErrorsNameTheField) {
  const auto node =
      decode_node(*api::parse_json(R"({"spec":{"taints":[{"key":"a","timeAdded":"yesterday"}]}})"));
  ASSERT_FALSE(node.has_value());
  EXPECT_EQ(berth::to_string(node.error()),
            "spec.taints[0].timeAdded: not an RFC 3339 time: \"yesterday\"");
}

struct TolerationCase {
  std::string name;
  Toleration toleration;
  bool want;
};

class Tolerates : public testing::TestWithParam<TolerationCase> {};

TEST_P(Tolerates, FollowsKubernetesRule) {
  const Taint taint{.key = "gpu", .value = "h100", .effect = "NoSchedule", .time_added = {}};
  EXPECT_EQ(tolerates(GetParam().toleration, taint), GetParam().want);
  EXPECT_EQ(tolerates(std::vector<Toleration>{{}, GetParam().toleration}, taint), GetParam().want);
}

Toleration toleration(std::string key, std::string op, std::string value, std::string effect) {
  return {.key = std::move(key),
          .op = std::move(op),
          .value = std::move(value),
          .effect = std::move(effect),
          .toleration_seconds = {}};
}

INSTANTIATE_TEST_SUITE_P(
    Table, Tolerates,
    testing::Values(
        TolerationCase{"Equal", toleration("gpu", "Equal", "h100", "NoSchedule"), true},
        TolerationCase{"DefaultOperatorIsEqual", toleration("gpu", "", "h100", ""), true},
        TolerationCase{"OtherValue", toleration("gpu", "Equal", "a100", "NoSchedule"), false},
        TolerationCase{"OtherKey", toleration("cpu", "Equal", "h100", "NoSchedule"), false},
        TolerationCase{"OtherEffect", toleration("gpu", "Equal", "h100", "NoExecute"), false},
        TolerationCase{"Exists", toleration("gpu", "Exists", "", "NoSchedule"), true},
        TolerationCase{"ExistsAnyEffect", toleration("gpu", "Exists", "", ""), true},
        TolerationCase{"Everything", toleration("", "Exists", "", ""), true},
        TolerationCase{"EverythingOfAnEffect", toleration("", "Exists", "", "NoExecute"), false},
        TolerationCase{"NoKeyNeedsExists", toleration("", "Equal", "h100", ""), false},
        TolerationCase{"UnknownOperator", toleration("gpu", "Gt", "h100", ""), false}),
    [](const auto& given) { return given.param.name; });

} // namespace
} // namespace berth::model
