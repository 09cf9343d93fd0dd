#include "berth/topology/device_hints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using State = DeviceOffer::State;

const NumaMask kMachine = NumaMask::of({0, 1, 2, 3});

Hint on(std::vector<int> nodes, bool preferred) {
  return {.affinity = NumaMask::of(nodes), .preferred = preferred};
}

TEST(DeviceHints, LookOnlyAtNodesThatHaveADevice) {
  const auto hints = device_hints({{.nodes = {0}}, {.nodes = {2}}}, 1, kMachine);
  ASSERT_TRUE(hints);
  EXPECT_THAT(*hints, ElementsAre(on({0}, true), on({2}, true), on({0, 2}, false)));
}

TEST(DeviceHints, WithoutTopologyNobodyCares) {
  EXPECT_EQ(device_hints({{.nodes = {}}, {.nodes = {}}}, 1, kMachine), std::nullopt);
  EXPECT_EQ(device_hints({{.nodes = {-1}}, {.nodes = {64}}}, 1, kMachine), std::nullopt);
}

TEST(DeviceHints, NodeZeroIsANode) {
  const auto hints = device_hints({{.nodes = {0}}}, 1, kMachine);
  ASSERT_TRUE(hints);
  EXPECT_THAT(*hints, ElementsAre(on({0}, true)));
}

TEST(DeviceHints, NodesThatTheMachineLacksAreDropped) {
  const auto hints = device_hints({{.nodes = {1, 9}}}, 1, kMachine);
  ASSERT_TRUE(hints);
  EXPECT_THAT(*hints, ElementsAre(on({1}, true)));
}

TEST(DeviceHints, DevicesWithoutTopologyHelpNoNode) {
  const auto hints = device_hints({{.nodes = {0}}, {.nodes = {}}}, 2, kMachine);
  ASSERT_TRUE(hints);
  EXPECT_THAT(*hints, IsEmpty());
}

TEST(DeviceHints, OfTooFewDevicesAreNone) {
  const auto hints =
      device_hints({{.nodes = {0}}, {.nodes = {1}, .state = State::Taken}}, 2, kMachine);
  ASSERT_TRUE(hints);
  EXPECT_THAT(*hints, IsEmpty());
}

TEST(DeviceHints, WhatIsTakenOrSickCountsForTheFewestNodes) {
  const auto hints = device_hints(
      {{.nodes = {0}}, {.nodes = {0}, .state = State::Taken}, {.nodes = {1}}}, 2, kMachine);
  ASSERT_TRUE(hints);
  EXPECT_THAT(*hints, ElementsAre(on({0, 1}, false))) << "two would have been on one node";
}

TEST(DeviceHints, WhatInitContainersLeftMustBeIn) {
  const auto hints = device_hints(
      {{.nodes = {0}}, {.nodes = {0}}, {.nodes = {1}, .state = State::Reusable}, {.nodes = {1}}}, 2,
      kMachine);
  ASSERT_TRUE(hints);
  EXPECT_THAT(*hints, ElementsAre(on({1}, true), on({0, 1}, false)));
}

} // namespace
} // namespace berth::topology
