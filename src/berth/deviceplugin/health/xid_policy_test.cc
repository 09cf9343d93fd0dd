#include "berth/deviceplugin/health/xid_policy.h"

#include <set>

#include <gtest/gtest.h>

namespace berth::deviceplugin {
namespace {

using inventory::FabricState;
using inventory::GpuProbe;
using inventory::RecoveryAction;

TEST(XidPolicy, WhatNeedsAResetOrARebootCounts) {
  const HealthChecks usual;
  for (const int xid : {46, 48, 62, 74, 79, 95, 119, 140, 143, 151, 9999}) {
    EXPECT_TRUE(counts(usual, xid)) << xid;
  }
  for (const int xid : {13, 31, 32, 43, 45, 63, 68, 69, 92, 94, 109, 121, 137, 154}) {
    EXPECT_FALSE(counts(usual, xid)) << xid;
  }
}

TEST(XidPolicy, WhatTheAdministratorSaysComesFirst) {
  const HealthChecks checks{.disabled = {48, 79}, .enabled = {31, 79}};
  EXPECT_FALSE(counts(checks, 48));
  EXPECT_TRUE(counts(checks, 31));
  EXPECT_TRUE(counts(checks, 79)) << "on both lists";
  EXPECT_TRUE(counts({.no_xids = true, .enabled = {31}}, 31));
  EXPECT_FALSE(counts({.no_xids = true, .enabled = {31}}, 48));
  EXPECT_TRUE(counts({.every_xid = true, .disabled = {13}}, 13));
  EXPECT_FALSE(counts({.off = true}, 79));
}

TEST(XidPolicy, AGpuIsSickByItsOwnAnswer) {
  const HealthChecks usual;
  const GpuProbe ecc{.action = RecoveryAction::GpuReset, .last_xid = 48};
  EXPECT_FALSE(is_sick(usual, {}));
  EXPECT_TRUE(is_sick(usual, ecc));
  EXPECT_FALSE(is_sick({.disabled = {48}}, ecc));
  EXPECT_TRUE(is_sick({.disabled = {48}}, {.action = RecoveryAction::GpuReset}))
      << "the driver says so without an Xid";
  EXPECT_TRUE(is_sick({.no_xids = true}, {.present = false}));
  EXPECT_TRUE(is_sick({.no_xids = true}, {.fabric = FabricState::InProgress}));
  EXPECT_FALSE(is_sick({.off = true}, {.present = false}));
}

} // namespace
} // namespace berth::deviceplugin
