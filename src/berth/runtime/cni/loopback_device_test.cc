// The kernel's own devices: without the right to make a network namespace these are skipped.
#include "berth/runtime/cni/loopback_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/network_namespace.h"

namespace berth::runtime::cni {
namespace {

TEST(LoopbackDevice, IsDownUntilItIsBroughtUp) {
  const test::OwnNetwork own;
  if (!own.made()) {
    GTEST_SKIP() << "this process may not make a network namespace";
  }
  const LoopbackDevice device = kernel_loopback();
  EXPECT_FALSE(device.is_up(own.path()).value());
  for (int i = 0; i < 2; ++i) {
    const auto up = device.bring_up(own.path());
    ASSERT_TRUE(up.has_value()) << up.error().message;
    EXPECT_TRUE(device.is_up(own.path()).value());
  }
}

TEST(LoopbackDevice, OfNoNamespaceIsAnError) {
  const LoopbackDevice device = kernel_loopback();
  EXPECT_EQ(device.bring_up("/nowhere/net").error().code, Code::NotFound);
  EXPECT_EQ(device.is_up("/nowhere/net").error().code, Code::NotFound);
}

} // namespace
} // namespace berth::runtime::cni
