#include "berth/gang/topology_tree.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/builders.h"

namespace berth::gang {
namespace {

using test::node;
using testing::ElementsAre;

const std::vector<std::string> kLevels = {"zone", "rack"};

class Tree : public testing::Test {
 protected:
  void add(std::string_view name, std::string_view zone, std::string_view rack) {
    auto builder = node(name);
    if (!zone.empty()) {
      builder.label("zone", zone);
    }
    if (!rack.empty()) {
      builder.label("rack", rack);
    }
    state.set_node(builder.build());
  }
  /// "key=value depth [nodes]" of each domain.
  std::vector<std::string> picture() const {
    std::vector<std::string> lines;
    const TopologyTree tree(state, kLevels);
    for (const Domain& domain : tree.domains()) {
      std::string nodes;
      for (const sched::NodeId id : domain.nodes) {
        nodes += " " + state.node_name(id);
      }
      lines.push_back(fmt::format("{}={}{} {}:{}", domain.key, domain.value,
                                  domain.loose ? " loose" : "", domain.depth, nodes));
    }
    return lines;
  }

  sched::ClusterState state;
};

TEST_F(Tree, HasADomainForEachValueOfEachLevel) {
  add("a", "z1", "r1");
  add("b", "z1", "r2");
  add("c", "z2", "r1");
  add("d", "z1", "r1");
  EXPECT_THAT(picture(), ElementsAre("= 0: a b c d", "zone=z1 1: a b d", "rack=r1 2: a d",
                                     "rack=r2 2: b", "zone=z2 1: c", "rack=r1 2: c"));
}

TEST_F(Tree, NodesWithoutALabelAreNearNobody) {
  add("a", "z1", "");
  add("b", "z1", "r2");
  add("c", "", "");
  EXPECT_THAT(picture(), ElementsAre("= 0: a b c", "zone=z1 1: a b", "rack=r2 2: b",
                                     "rack= loose 2: a", "zone= loose 1: c"));
}

TEST_F(Tree, LevelsThatNobodyCarriesDoNotCount) {
  add("a", "", "r1");
  add("b", "", "r2");
  EXPECT_THAT(picture(), ElementsAre("= 0: a b", "rack=r1 1: a", "rack=r2 1: b"));
  EXPECT_FALSE(TopologyTree(state, kLevels).flat());
  EXPECT_TRUE(TopologyTree(state, {"block"}).flat());
}

} // namespace
} // namespace berth::gang
