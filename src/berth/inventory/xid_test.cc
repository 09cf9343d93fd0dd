#include "berth/inventory/xid.h"

#include <set>

#include <gtest/gtest.h>

namespace berth::inventory {
namespace {

// What each class of error means for the GPU, by code.
struct Row {
  XidClass xid_class;
  RecoveryAction action;
  std::set<int> codes;
};

const Row kTable[] = {
    {XidClass::Ignored, RecoveryAction::None, {13, 31, 32, 43, 45, 68, 69, 92, 109, 121, 137}},
    {XidClass::Degraded, RecoveryAction::None, {63, 94, 154}},
    {XidClass::UntilReset, RecoveryAction::GpuReset, {46,  48,  54,  61,  62,  64,  74,  95,  110,
                                                      119, 120, 136, 140, 143, 144, 145, 146, 147,
                                                      148, 149, 150, 155, 156, 158, 171, 172}},
    {XidClass::UntilReboot, RecoveryAction::NodeReboot, {79, 151}},
};

TEST(Xid, EveryKnownCodeHasItsClassAndAMeaning) {
  for (const Row& row : kTable) {
    for (const int code : row.codes) {
      EXPECT_EQ(classify_xid(code), row.xid_class) << code;
      EXPECT_EQ(recovery_action(classify_xid(code)), row.action) << code;
      EXPECT_FALSE(xid_meaning(code).empty()) << code;
    }
  }
}

TEST(Xid, EveryOtherCodeIsTakenSeriouslyAndHasNoMeaning) {
  std::set<int> known;
  for (const Row& row : kTable) {
    known.insert(row.codes.begin(), row.codes.end());
  }
  for (int code = -1; code < 300; ++code) {
    if (!known.contains(code)) {
      EXPECT_EQ(classify_xid(code), XidClass::UntilReset) << code;
      EXPECT_EQ(xid_meaning(code), "") << code;
    }
  }
}

TEST(Xid, WhatTheStockPluginSkipsDoesNotKill) {
  for (const int code : {13, 31, 43, 45, 68, 109}) {
    EXPECT_EQ(recovery_action(classify_xid(code)), RecoveryAction::None) << code;
  }
}

TEST(Xid, IsDescribedWithItsMeaning) {
  EXPECT_EQ(describe_xid(79), "Xid 79 (GPU has fallen off the bus)");
  EXPECT_EQ(describe_xid(48), "Xid 48 (double bit ECC error)");
  EXPECT_EQ(describe_xid(999), "Xid 999");
}

} // namespace
} // namespace berth::inventory
