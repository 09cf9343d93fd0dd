#include "berth/deviceplugin/discovery_options.h"

#include <gtest/gtest.h>

namespace berth::deviceplugin {
namespace {

Config sharing(std::vector<SharedResource> resources) {
  Config config;
  config.sharing.time_slicing = SharedResources{.resources = std::move(resources)};
  return config;
}

TEST(DiscoveryOptions, NothingSharedIsNothingToSay) {
  const auto options = discovery_options({});
  EXPECT_EQ(options.sharing, inventory::Sharing::None);
  EXPECT_EQ(options.replicas, 1);
  EXPECT_EQ(discovery_options(sharing({})).replicas, 1);
}

TEST(DiscoveryOptions, WholeGpusComeBeforeOtherResources) {
  const auto options = discovery_options(sharing({{.name = "nvidia.com/mig-1g.5gb", .replicas = 2},
                                                  {.name = "nvidia.com/gpu", .replicas = 4}}));
  EXPECT_EQ(options.sharing, inventory::Sharing::TimeSlicing);
  EXPECT_EQ(options.replicas, 4);
  EXPECT_FALSE(options.renamed);
  EXPECT_TRUE(
      discovery_options(
          sharing({{.name = "nvidia.com/gpu", .rename = "nvidia.com/gpu.shared", .replicas = 4}}))
          .renamed);
}

} // namespace
} // namespace berth::deviceplugin
