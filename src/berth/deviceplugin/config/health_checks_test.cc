#include "berth/deviceplugin/config/health_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/deviceplugin/config/device_ref.h"

namespace berth::deviceplugin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

HealthChecks read(std::string_view disable, std::string_view enable = "") {
  std::vector<std::string> remarks;
  const HealthChecks checks = read_health_checks(disable, enable, remarks);
  EXPECT_THAT(remarks, IsEmpty());
  return checks;
}

TEST(HealthChecks, NothingSaidIsNothingChanged) {
  EXPECT_EQ(read(""), HealthChecks());
}

TEST(HealthChecks, AllTurnsThemOffUnlessSomeAreEnabled) {
  EXPECT_TRUE(read("all").off);
  EXPECT_TRUE(read(" ALL ").off);
  EXPECT_FALSE(read("all", "48").off);
  EXPECT_TRUE(read("all", "48").no_xids);
  EXPECT_THAT(read("all", "48").enabled, ElementsAre(48));
}

TEST(HealthChecks, XidsTurnsOffThoseAlone) {
  EXPECT_FALSE(read("xids").off);
  EXPECT_TRUE(read("xids").no_xids);
}

TEST(HealthChecks, EnablingAllWins) {
  const HealthChecks checks = read("all", "all");
  EXPECT_FALSE(checks.off);
  EXPECT_FALSE(checks.no_xids);
  EXPECT_TRUE(checks.every_xid);
}

TEST(HealthChecks, ListsAreSortedAndEachIsOnce) {
  EXPECT_THAT(read("74, 48,48,").disabled, ElementsAre(48, 74));
}

TEST(HealthChecks, WhatIsNoXidIsLeftOutAndSaid) {
  std::vector<std::string> remarks;
  EXPECT_THAT(read_health_checks("48,x,-3,99999999999", "", remarks).disabled, ElementsAre(48));
  EXPECT_THAT(remarks,
              ElementsAre(HasSubstr("Xid value: x"), HasSubstr("-3"), HasSubstr("99999999999")));
}

TEST(DeviceRef, IsAnIndexOrAUuid) {
  for (const char* ref : {"0", "15", "0:1", "GPU-b1028956-cfa2-0990-bf4a-5da9abb51763",
                          "MIG-b1028956-cfa2-0990-bf4a-5da9abb51763",
                          "MIG-GPU-b1028956-cfa2-0990-bf4a-5da9abb51763/3/0"}) {
    EXPECT_TRUE(is_device_ref(ref)) << ref;
  }
  for (const char* ref :
       {"", "-1", "0:", ":1", "0:1:2", "GPU-", "GPU-b1028956", "gpu0",
        "b1028956-cfa2-0990-bf4a-5da9abb51763", "MIG-GPU-b1028956-cfa2-0990-bf4a-5da9abb51763/3",
        "GPU-b1028956-cfa2-0990-bf4a-5da9abb5176z", "99999999999"}) {
    EXPECT_FALSE(is_device_ref(ref)) << ref;
  }
}

} // namespace
} // namespace berth::deviceplugin
