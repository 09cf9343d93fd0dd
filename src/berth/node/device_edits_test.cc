#include "berth/node/device_edits.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/log.h"

namespace berth::node {
namespace {

using deviceplugin::ContainerAllocateResponse;
using ::testing::ElementsAre;
using ::testing::Pair;

TEST(MergeEdits, TheFirstOfTwoWins) {
  set_log_level(LogLevel::Off);
  const Holding first{.response =
                          ContainerAllocateResponse{.envs = {{"A", "1"}, {"SAME", "s"}},
                                                    .mounts = {{"/m", "/one", true}},
                                                    .devices = {{"/dev/x", "/dev/one", "r"}},
                                                    .annotations = {{"k", "one"}},
                                                    .cdi_devices = {"v.com/c=1", "v.com/c=2"}}};
  const Holding unasked{.response = std::nullopt};
  const Holding second{.response = ContainerAllocateResponse{
                           .envs = {{"A", "2"}, {"B", "3"}, {"SAME", "s"}},
                           .mounts = {{"/m", "/two", false}, {"/n", "/two", false}},
                           .devices = {{"/dev/x", "/dev/two", "rw"}, {"/dev/y", "/dev/y", "rw"}},
                           .annotations = {{"k", "two"}, {"l", "two"}},
                           .cdi_devices = {"v.com/c=2", "v.com/c=3"}}};
  const auto merged = merge_edits({&first, &unasked, &second});
  set_log_level(LogLevel::Warn);
  EXPECT_THAT(merged.envs, ElementsAre(Pair("A", "1"), Pair("B", "3"), Pair("SAME", "s")));
  EXPECT_THAT(merged.mounts, ElementsAre(deviceplugin::Mount{"/m", "/one", true},
                                         deviceplugin::Mount{"/n", "/two", false}));
  EXPECT_THAT(merged.devices, ElementsAre(deviceplugin::DeviceSpec{"/dev/x", "/dev/one", "r"},
                                          deviceplugin::DeviceSpec{"/dev/y", "/dev/y", "rw"}));
  EXPECT_THAT(merged.annotations, ElementsAre(Pair("k", "one"), Pair("l", "two")));
  EXPECT_THAT(merged.cdi_devices, ElementsAre("v.com/c=1", "v.com/c=2", "v.com/c=3"));
}

TEST(MergeEdits, OfNothingIsNothing) {
  EXPECT_EQ(merge_edits({}), ContainerAllocateResponse());
}

} // namespace
} // namespace berth::node
