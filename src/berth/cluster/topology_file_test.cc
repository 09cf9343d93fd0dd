#include "berth/cluster/topology_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(NodeNames, AreExpanded) {
  EXPECT_THAT(*expand_node_names("a"), ElementsAre("a"));
  EXPECT_THAT(*expand_node_names("gpu[1-3,07]-a"),
              ElementsAre("gpu1-a", "gpu2-a", "gpu3-a", "gpu07-a"));
  EXPECT_THAT(*expand_node_names("n[008-010]"), ElementsAre("n008", "n009", "n010"));
  EXPECT_THAT(*expand_node_names("r[1-2]n[1-2]"), ElementsAre("r1n1", "r1n2", "r2n1", "r2n2"));
}

TEST(NodeNames, SayWhatIsWrong) {
  EXPECT_THAT(expand_node_names("n[1-").error().message, HasSubstr("\"[\" has no \"]\""));
  EXPECT_THAT(expand_node_names("n[3-1]").error().message, HasSubstr("\"3-1\" is no range"));
  EXPECT_THAT(expand_node_names("n[1-x]").error().message, HasSubstr("\"1-x\" is no range"));
  EXPECT_THAT(expand_node_names("").error().message, HasSubstr("it is empty"));
  EXPECT_THAT(expand_node_names("n[1-99999999]").error().message, HasSubstr("more than 100000"));
  EXPECT_THAT(expand_node_names("n[1-999][1-999]").error().message, HasSubstr("more than 100000"));
}

TEST(TopologyFile, GivesLabelsLevelByLevel) {
  const auto labels = read_topology(R"(apiVersion: berth.dev/v1alpha1
kind: Topology
spec:
  levels:
    - label: berth.dev/block
      domains:
        b1: ["n[1-3]"]
    - label: berth.dev/rack
      domains:
        r1: [n1, n2]
        r2: [n3]
)",
                                    "t.yaml");
  ASSERT_TRUE(labels) << to_string(labels.error());
  ASSERT_EQ(labels->size(), 3U);
  EXPECT_THAT(labels->at("n2"),
              UnorderedElementsAre(Pair("berth.dev/block", "b1"), Pair("berth.dev/rack", "r1")));
  EXPECT_THAT(labels->at("n3"),
              UnorderedElementsAre(Pair("berth.dev/block", "b1"), Pair("berth.dev/rack", "r2")));
}

TEST(TopologyFile, ReadsSwitchModels) {
  const auto labels = read_topology(R"(switches:
  core:
    labels: {topology.kubernetes.io/region: us-east}
    switches: [spine-1]
  spine-1:
    labels: {topology.kubernetes.io/zone: zone1}
    switches: [leaf-1]
blocks:
- switch: leaf-1
  nodes: ["node[1101-1102]"]
  annotations:
    accelerator.topology.test/domain: nvl-1
)",
                                    "t.yaml");
  ASSERT_TRUE(labels) << to_string(labels.error());
  EXPECT_THAT(labels->at("node1102"),
              UnorderedElementsAre(Pair("berth.dev/block", "spine-1"),
                                   Pair("berth.dev/rack", "leaf-1"),
                                   Pair("nvidia.com/gpu.clique", "nvl-1"),
                                   Pair("topology.kubernetes.io/region", "us-east"),
                                   Pair("topology.kubernetes.io/zone", "zone1")));
}

struct Bad {
  std::string_view text;
  std::string_view says;
};

class BadTopology : public testing::TestWithParam<Bad> {};

TEST_P(BadTopology, SaysWhereAndWhy) {
  const auto labels = read_topology(GetParam().text, "t.yaml");
  ASSERT_FALSE(labels);
  EXPECT_THAT(to_string(labels.error()), HasSubstr(std::string(GetParam().says)));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, BadTopology,
    testing::Values(
        Bad{"kind: Topology\nspec:\n  levels:\n  - label: rack\n    domains:\n      r1: [a]\n"
            "      r2: [b, a]\n",
            "t.yaml:7:15"},
        Bad{"kind: Topology\nspec:\n  levels:\n  - label: rack\n    domains:\n      r1: [a]\n"
            "      r2: [b, a]\n",
            "node \"a\" is in rack \"r1\" already, and cannot be in \"r2\" too"},
        Bad{"kind: Topology\nspec:\n  levels:\n  - domains: {}\n", "label"},
        Bad{"kind: Topology\nspec:\n  tiers: []\n", "tiers"},
        Bad{"switches: {a: {switches: [b]}, b: {switches: [a]}}\nblocks: [{switch: a, nodes: "
            "[n]}]\n",
            "is above itself"},
        Bad{"switches: {a: {switches: [c]}, b: {switches: [c]}}\nblocks: []\n",
            "switch \"c\" is below \"a\" already"},
        Bad{"blocks:\n- switch: a\n  nodes: [\"n[1\"]\n", "t.yaml:3:11"},
        Bad{"kind: Pod\n", "no topology: expected kind: Topology"},
        Bad{"kind: Topology\n", "the topology names no nodes"}, Bad{"{", "t.yaml:"}));

TEST(TopologyFile, ReadsTopographsModels) {
  const char* shared = std::getenv("BERTH_SHARED");
  const std::filesystem::path folder =
      (shared == nullptr ? std::filesystem::path(BERTH_SOURCE_DIR) / ".." / "shared"
                         : std::filesystem::path(shared)) /
      "inputs" / "topology";
  if (!std::filesystem::exists(folder / "topograph-nvl72.yaml")) {
    GTEST_SKIP() << "no " << folder;
  }
  const std::map<std::string, std::size_t> nodes = {{"topograph-nvl72.yaml", 72},
                                                    {"topograph-small-tree.yaml", 6}};
  for (const char* name :
       {"topograph-nvl72.yaml", "topograph-small-tree.yaml", "topograph-medium.yaml",
        "topograph-large.yaml", "topograph-dual-xclr-irregular.yaml"}) {
    std::ifstream file(folder / name);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto labels = read_topology(text, name);
    ASSERT_TRUE(labels) << to_string(labels.error());
    if (nodes.contains(name)) {
      EXPECT_EQ(labels->size(), nodes.at(name)) << name;
    }
    for (const auto& [node, of_node] : *labels) {
      EXPECT_TRUE(of_node.contains("berth.dev/rack")) << name << " " << node;
    }
  }
}

} // namespace
} // namespace berth::cluster
