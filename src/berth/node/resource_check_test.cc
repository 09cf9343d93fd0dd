#include "berth/node/resource_check.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::node {
namespace {

model::ResourceList room(std::initializer_list<std::pair<const char*, const char*>> amounts) {
  model::ResourceList list;
  for (const auto& [resource, amount] : amounts) {
    list.emplace(resource, api::Quantity::parse(amount).value());
  }
  return list;
}

class Check : public ::testing::Test {
 protected:
  std::string shortage(const test::PodBuilder& asking,
                       const std::vector<test::PodBuilder>& others = {}) {
    std::vector<std::shared_ptr<const model::Pod>> owned;
    std::vector<Occupant> there;
    for (const test::PodBuilder& other : others) {
      owned.push_back(other.build());
      there.push_back({.pod = owned.back().get(), .init_over = init_over_});
    }
    const auto found = find_shortage(*asking.build(), room_, there, skip_);
    return found ? found->reason + ": " + found->message : "fits";
  }

  bool init_over_ = false; ///< of the others
  model::ResourceList room_ =
      room({{"pods", "2"}, {"cpu", "4"}, {"memory", "8Gi"}, {"nvidia.com/gpu", "8"}});
  std::function<bool(std::string_view)> skip_ = [](std::string_view) { return false; };
};

TEST_F(Check, WhatFitsFits) {
  EXPECT_EQ(shortage(test::pod("a").cpu("4").memory("8Gi").gpus(8)), "fits");
  EXPECT_EQ(shortage(test::pod("a").cpu("3").gpus(6), {test::pod("b").cpu("1").gpus(2)}), "fits");
}

TEST_F(Check, DevicesOfAnInitPhaseThatIsOverAreFreeButNotItsCpus) {
  const auto prepared = [] {
    return test::pod("b").gpus(1).cpu("1").init_container("prepare").image("i").gpus(8).cpu("4");
  };
  EXPECT_THAT(shortage(test::pod("a").gpus(7), {prepared()}), ::testing::StartsWith("OutOfnvidia"));
  init_over_ = true;
  EXPECT_EQ(shortage(test::pod("a").gpus(7), {prepared()}), "fits");
  EXPECT_THAT(shortage(test::pod("a").gpus(8), {prepared()}), ::testing::StartsWith("OutOfnvidia"));
  EXPECT_THAT(shortage(test::pod("a").cpu("1"), {prepared()}), ::testing::StartsWith("OutOfcpu"));
}

TEST_F(Check, TheFirstShortageIsNamedInTheKubeletsWords) {
  EXPECT_EQ(shortage(test::pod("a"), {test::pod("b"), test::pod("c")}),
            "OutOfpods: Node didn't have enough resource: pods, requested: 1, used: 2, capacity: "
            "2");
  EXPECT_EQ(shortage(test::pod("a").cpu("1500m").memory("9Gi"), {test::pod("b").cpu("3")}),
            "OutOfcpu: Node didn't have enough resource: cpu, requested: 1500, used: 3000, "
            "capacity: 4000");
  EXPECT_EQ(shortage(test::pod("a").memory("9Gi").gpus(9)),
            "OutOfmemory: Node didn't have enough resource: memory, requested: 9663676416, used: "
            "0, capacity: 8589934592");
  EXPECT_EQ(shortage(test::pod("a").gpus(5), {test::pod("b").gpus(4)}),
            "OutOfnvidia.com/gpu: Node didn't have enough resource: nvidia.com/gpu, requested: 5, "
            "used: 4, capacity: 8");
}

TEST_F(Check, InitContainersCountAsTheKubeletCountsThem) {
  EXPECT_EQ(shortage(test::pod("a").gpus(2).init_container("i").gpus(8)), "fits");
  EXPECT_EQ(shortage(test::pod("a").gpus(2).sidecar("s").gpus(7)),
            "OutOfnvidia.com/gpu: Node didn't have enough resource: nvidia.com/gpu, requested: 9, "
            "used: 0, capacity: 8");
}

TEST_F(Check, WhatTheNodeDoesNotHaveIsLeftToTheDeviceManager) {
  EXPECT_EQ(shortage(test::pod("a").extended("example.com/x", "3")), "fits");
  skip_ = [](std::string_view resource) { return resource == "nvidia.com/gpu"; };
  EXPECT_EQ(shortage(test::pod("a").gpus(9)), "fits");
}

} // namespace
} // namespace berth::node
