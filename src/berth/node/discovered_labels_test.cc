#include "berth/node/discovered_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::node {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(DiscoveredLabels, FollowWhatIsFound) {
  api::Labels found{{"nvidia.com/gpu.count", "8"}, {"nvidia.com/gpu.product", "A100"}};
  DiscoveredLabels labels([&] { return found; }, {});
  EXPECT_THAT(labels.changes({{"nvidia.com/mig-1g.5gb.count", "7"}}), IsEmpty())
      << "nobody has looked";
  labels.look_again();
  found = {{"nvidia.com/mig-3g.20gb.count", "2"}};
  labels.look_again();
  EXPECT_THAT(labels.changes({{"nvidia.com/gpu.count", "8"},
                              {"nvidia.com/gpu.product", "A100"},
                              {"nvidia.com/mig-1g.5gb.count", "7"},
                              {"nvidia.com/mig.config", "all-1g.5gb"},
                              {"zone", "b"}}),
              ElementsAre(Pair("berth.dev/mig-state", "unknown"), Pair("nvidia.com/gpu.count", ""),
                          Pair("nvidia.com/mig-1g.5gb.count", ""),
                          Pair("nvidia.com/mig-3g.20gb.count", "2")))
      << "the product stays while it is not known, and a label says so";
  found = {{"nvidia.com/gpu.count", "8"}, {"nvidia.com/gpu.product", "A100"}};
  labels.look_again();
  EXPECT_THAT(labels.changes({{"berth.dev/mig-state", "unknown"}}),
              ElementsAre(Pair("berth.dev/mig-state", ""), Pair("nvidia.com/gpu.count", "8"),
                          Pair("nvidia.com/gpu.product", "A100"),
                          Pair("nvidia.com/mig-3g.20gb.count", "")));
}

TEST(DiscoveredLabels, WhatWasGivenWins) {
  DiscoveredLabels labels(
      [] {
        return api::Labels{{"nvidia.com/gpu.product", "A100"}};
      },
      {{"nvidia.com/gpu.product", "mine"}});
  labels.look_again();
  EXPECT_THAT(labels.changes({{"nvidia.com/gpu.product", "mine"}}),
              ElementsAre(Pair("berth.dev/mig-state", "")));
}

TEST(DiscoveredLabels, WhereNobodyDiscoversNothingChanges) {
  DiscoveredLabels labels({}, {});
  labels.look_again();
  EXPECT_THAT(labels.changes({{"nvidia.com/mig-1g.5gb.count", "7"}}), IsEmpty());
}

} // namespace
} // namespace berth::node
