#include "berth/node/device_pool.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const TimePoint kNow = TimePoint::from_unix_seconds(1000);

DevicePool pool() {
  DevicePool made;
  made.start();
  made.update({{.id = "b", .numa_nodes = {1}},
               {.id = "a", .health = "Unhealthy", .numa_nodes = {0, 1}},
               {.id = "c"}});
  return made;
}

TEST(DevicePool, CountsWhatThePluginSaid) {
  const DevicePool live = pool();
  EXPECT_TRUE(live.live());
  EXPECT_TRUE(live.listed());
  EXPECT_EQ(live.count(), (DeviceCount{3, 2}));
  EXPECT_THAT(live.healthy(), ElementsAre("b", "c"));
  EXPECT_THAT(live.reported_unhealthy(), ElementsAre("a"));
  EXPECT_THAT(live.numa_of("a"), ElementsAre(0, 1));
  EXPECT_THAT(live.numa_of("c"), IsEmpty());
  EXPECT_THAT(live.numa_of("x"), IsEmpty());
  EXPECT_FALSE(live.expires(Duration::minutes(5)));
}

TEST(DevicePool, AnyOtherHealthIsNotHealthy) {
  DevicePool live;
  live.update({{.id = "a", .health = ""}, {.id = "b", .health = "healthy"}});
  EXPECT_EQ(live.count(), (DeviceCount{2, 0}));
}

TEST(DevicePool, AListReplacesAndARepeatedIdCountsOnce) {
  DevicePool live = pool();
  live.update({{.id = "b"}, {.id = "d"}, {.id = "b", .health = "Unhealthy"}});
  EXPECT_EQ(live.count(), (DeviceCount{2, 1}));
  EXPECT_THAT(live.healthy(), ElementsAre("d"));
}

TEST(DevicePool, WithoutItsPluginNothingIsHealthyAndTheCapacityStays) {
  DevicePool gone = pool();
  gone.stop(kNow);
  EXPECT_FALSE(gone.live());
  EXPECT_EQ(gone.count(), (DeviceCount{3, 0}));
  EXPECT_THAT(gone.healthy(), IsEmpty());
  EXPECT_EQ(gone.expires(Duration::minutes(5)), kNow + Duration::minutes(5));
  gone.stop(kNow + Duration::minutes(1));
  EXPECT_EQ(gone.expires(Duration::minutes(5)), kNow + Duration::minutes(5)) << "from the first";
  gone.start();
  EXPECT_TRUE(gone.live());
  EXPECT_FALSE(gone.listed()) << "of this life nothing is known yet";
}

TEST(DevicePool, HealthOfADevice) {
  DevicePool of = pool();
  EXPECT_EQ(of.health("b"), DeviceHealth::Healthy);
  EXPECT_EQ(of.health("a"), DeviceHealth::Unhealthy);
  EXPECT_EQ(of.health("x"), DeviceHealth::Healthy) << "one the list lacks";
  of.stop(kNow);
  EXPECT_EQ(of.health("b"), DeviceHealth::Unknown);
  EXPECT_EQ(of.health("a"), DeviceHealth::Unhealthy);
  EXPECT_EQ(to_string(DeviceHealth::Healthy), "Healthy");
  EXPECT_EQ(to_string(DeviceHealth::Unhealthy), "Unhealthy");
  EXPECT_EQ(to_string(DeviceHealth::Unknown), "Unknown");
}

} // namespace
} // namespace berth::node
