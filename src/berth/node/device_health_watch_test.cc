#include "berth/node/device_health_watch.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Watch : public ::testing::Test {
 protected:
  std::vector<std::string> with(DeviceHealth first, DeviceHealth second) {
    std::vector<std::string> lines;
    for (const HealthNews& each :
         watch_.news({{"main", {{"r.com/d", {{"a", first}, {"b", second}}}}}})) {
      EXPECT_NE(each.health, DeviceHealth::Unknown);
      EXPECT_EQ(each.health == DeviceHealth::Healthy,
                each.message.find("again") != std::string::npos);
      lines.push_back(each.message);
    }
    return lines;
  }
  DeviceHealthWatch watch_;
};

TEST_F(Watch, EachChangeIsNewsOnce) {
  using enum DeviceHealth;
  EXPECT_THAT(with(Healthy, Healthy), IsEmpty());
  EXPECT_THAT(with(Healthy, Unhealthy),
              ElementsAre("device r.com/d b of container main is unhealthy"));
  EXPECT_THAT(with(Healthy, Unhealthy), IsEmpty());
  EXPECT_THAT(with(Unhealthy, Healthy),
              ElementsAre("device r.com/d a of container main is unhealthy",
                          "device r.com/d b of container main is healthy again"));
  EXPECT_THAT(with(Healthy, Healthy),
              ElementsAre("device r.com/d a of container main is healthy again"));
}

TEST_F(Watch, APluginThatIsGoneIsNoNews) {
  using enum DeviceHealth;
  EXPECT_THAT(with(Unknown, Unknown), IsEmpty());
  EXPECT_THAT(with(Unhealthy, Healthy), ::testing::SizeIs(1));
  EXPECT_THAT(with(Unknown, Unknown), IsEmpty());
  EXPECT_THAT(with(Unhealthy, Healthy), IsEmpty()) << "it was told before";
}

} // namespace
} // namespace berth::node
