#include "berth/cluster/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cluster {
namespace {

using testing::HasSubstr;

TEST(NodeGroupTest, ReadsPlatformAndCount) {
  const auto plain = parse_node_group("dgx-h100:4");
  ASSERT_TRUE(plain) << to_string(plain.error());
  EXPECT_EQ(plain->platform, "dgx-h100");
  EXPECT_EQ(plain->count, 4);
  EXPECT_EQ(parse_node_group("l40s-pcie-8")->count, 1);
  EXPECT_EQ(parse_node_group("3xdgx-h100")->count, 3);
  EXPECT_EQ(parse_node_group("3xdgx-h100")->platform, "dgx-h100");
}

struct BadText {
  std::string name;
  std::string text;
  std::string message;
};
void PrintTo(const BadText& bad, std::ostream* out) {
  *out << bad.name;
}

class BadNodeGroupTest : public testing::TestWithParam<BadText> {};

TEST_P(BadNodeGroupTest, SaysWhatIsWrong) {
  const auto group = parse_node_group(GetParam().text);
  ASSERT_FALSE(group);
  EXPECT_THAT(to_string(group.error()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadNodeGroupTest,
    testing::Values(BadText{"unknown_platform", "dgx-x1:4",
                            "unknown platform \"dgx-x1\": the catalogue has a10g-pcie-4, dgx-a100"},
                    BadText{"empty", "", "unknown platform \"\""},
                    BadText{"no_number", "dgx-h100:", "not a node count from 1 to 100000: \"\""},
                    BadText{"zero", "dgx-h100:0", "not a node count"},
                    BadText{"negative", "dgx-h100:-1", "not a node count"},
                    BadText{"too_many", "dgx-h100:100001", "not a node count"},
                    BadText{"trailing", "dgx-h100:4x", "write --nodes dgx-h100:4"}),
    [](const auto& one) { return one.param.name; });

TEST(FaultTest, ReadsEveryForm) {
  const auto xid = parse_fault("5m:xid:dgx-h100-1:3:48");
  ASSERT_TRUE(xid) << to_string(xid.error());
  EXPECT_EQ(xid->at, Duration::minutes(5));
  EXPECT_EQ(xid->node, "dgx-h100-1");
  EXPECT_EQ(xid->gpu, 3);
  EXPECT_EQ(xid->code, 48);
  EXPECT_EQ(parse_fault("5m:xid:n:3")->code, 79);
  for (const std::string text : {"xid:n:3:79", "repair:n:0", "node-down:n", "node-up:n",
                                 "agent-crash:n", "plugin-crash:n:7s", "cut:n:1m"}) {
    const auto fault = parse_fault("10s:" + text);
    ASSERT_TRUE(fault) << text << ": " << to_string(fault.error());
    EXPECT_EQ(to_string(*fault), text);
  }
}

class BadFaultTest : public testing::TestWithParam<BadText> {};

TEST_P(BadFaultTest, SaysWhatIsWrong) {
  const auto fault = parse_fault(GetParam().text);
  ASSERT_FALSE(fault);
  EXPECT_THAT(to_string(fault.error()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadFaultTest,
    testing::Values(BadText{"too_short", "5m:xid", "write TIME:xid:NODE:GPU:CODE"},
                    BadText{"bad_time", "soon:xid:n:1", "not a duration"},
                    BadText{"unknown", "5m:explode:n",
                            "unknown fault \"explode\": one of xid, repair"},
                    BadText{"no_gpu", "5m:xid:n", "write TIME:xid:NODE:GPU[:CODE]"},
                    BadText{"bad_gpu", "5m:xid:n:16", "GPU index from 0 to 15"},
                    BadText{"bad_code", "5m:xid:n:1:x", "not an Xid code: \"x\""},
                    BadText{"no_node", "5m:node-down:", "write TIME:node-down:NODE"},
                    BadText{"too_long", "5m:node-up:n:1", "write TIME:node-up:NODE"},
                    BadText{"bad_pause", "5m:cut:n:soon", "not a duration"}),
    [](const auto& one) { return one.param.name; });

ClusterSpec must_read(std::string_view text) {
  auto manifests = api::read_manifests(text, "cluster.yaml");
  EXPECT_TRUE(manifests) << to_string(manifests.error());
  auto spec = read_cluster_spec(*manifests);
  EXPECT_TRUE(spec) << to_string(spec.error());
  return spec ? *std::move(spec) : ClusterSpec();
}

TEST(ClusterSpecTest, ReadsGroupsFaultsAndNodeObjects) {
  const ClusterSpec spec = must_read(R"(
apiVersion: berth.dev/v1alpha1
kind: Cluster
metadata: {name: mixed}
spec:
  nodes:
  - platform: dgx-h100
    count: 2
    labels: {rack: r1}
    taints:
    - {key: dedicated, value: training, effect: NoSchedule}
  - platform: t4-pcie-1
    name: edge
  faults:
  - 5m:xid:dgx-h100-1:3:79
---
apiVersion: v1
kind: Node
metadata: {name: mine}
status:
  capacity: {cpu: "8", memory: 32Gi, pods: "110", nvidia.com/gpu: "2"}
)");
  ASSERT_EQ(spec.groups.size(), 2U);
  EXPECT_EQ(spec.groups[0].labels.at("rack"), "r1");
  EXPECT_EQ(spec.groups[0].taints.at(0).value, "training");
  EXPECT_EQ(spec.groups[1].prefix, "edge");
  EXPECT_EQ(spec.nodes.size(), 1U);
  EXPECT_EQ(spec.faults.size(), 1U);
  EXPECT_EQ(spec.node_count(), 4);
}

TEST(ClusterSpecTest, ReadsHowGpusAreGiven) {
  const ClusterSpec spec = must_read(R"(
apiVersion: berth.dev/v1alpha1
kind: Cluster
metadata: {name: shared}
spec:
  nodes:
  - platform: hgx-a100-4
    mig: 1g.10gb=7
    devicePlugin:
      version: v1
      flags: {migStrategy: mixed}
  - platform: dgx-h100
    devicePlugin: {sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}}
)");
  ASSERT_EQ(spec.groups.size(), 2U);
  EXPECT_EQ(spec.groups[0].mig, "1g.10gb=7");
  EXPECT_EQ(spec.groups[0].device_plugin.flags.mig_strategy, inventory::MigStrategy::Mixed);
  EXPECT_TRUE(spec.groups[0].device_plugin.flags.plugin.device_list_strategies.cdi_cri);
  EXPECT_EQ(spec.groups[1].device_plugin.sharing.time_slicing->resources[0].replicas, 4);
}

TEST(ClusterSpecTest, ReadsWhatAgentsDoAboutNumaNodes) {
  const ClusterSpec spec = must_read(R"(
apiVersion: berth.dev/v1alpha1
kind: Cluster
metadata: {name: pinned}
spec:
  nodes:
  - platform: dgx-h100
    kubelet:
      topologyManagerPolicy: restricted
      cpuManagerPolicy: static
      cpuManagerPolicyOptions: {full-pcpus-only: "true"}
      memoryManagerPolicy: Static
)");
  ASSERT_EQ(spec.groups.size(), 1U);
  EXPECT_EQ(spec.groups[0].numa.alignment.policy, topology::Policy::Restricted);
  EXPECT_EQ(spec.groups[0].numa.cpu_policy, topology::CpuPolicy::Static);
  EXPECT_TRUE(spec.groups[0].numa.cpu_options.full_pcpus_only);
  EXPECT_EQ(spec.groups[0].numa.memory_policy, topology::MemoryPolicy::Static);
}

TEST(ClusterSpecTest, ReadsWhichGpusAreHamisVgpus) {
  const ClusterSpec spec = must_read(R"(
apiVersion: berth.dev/v1alpha1
kind: Cluster
metadata: {name: shared}
spec:
  nodes:
  - {platform: dgx-h100, hami: {}}
  - {platform: t4-pcie-1, hami: {deviceSplitCount: 4, deviceMemoryScaling: 1.5, deviceCoreScaling: "2"}}
  - {platform: l40s-pcie-8}
)");
  ASSERT_EQ(spec.groups.size(), 3U);
  EXPECT_EQ(spec.groups[0].hami, node::HamiSettings());
  EXPECT_EQ(
      spec.groups[1].hami,
      (node::HamiSettings{.split_count = 4, .memory_permille = 1500, .cores_permille = 2000}));
  EXPECT_FALSE(spec.groups[2].hami);
}

class BadClusterSpecTest : public testing::TestWithParam<BadText> {};

TEST_P(BadClusterSpecTest, SaysWhatIsWrong) {
  const auto manifests = api::read_manifests(
      "apiVersion: berth.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec:\n" +
          GetParam().text,
      "c.yaml");
  ASSERT_TRUE(manifests) << to_string(manifests.error());
  const auto spec = read_cluster_spec(*manifests);
  ASSERT_FALSE(spec);
  EXPECT_THAT(to_string(spec.error()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadClusterSpecTest,
    testing::Values(
        BadText{"no_nodes", "  nodes: []", "no nodes: expected Node objects or a Cluster"},
        BadText{"not_a_list", "  nodes: {}", "spec.nodes: expected a list"},
        BadText{"no_platform", "  nodes: [{count: 1}]", "spec.nodes[0]: platform is required"},
        BadText{"unknown_platform", "  nodes: [{platform: dgx}]", "unknown platform \"dgx\""},
        BadText{"bad_count", "  nodes: [{platform: dgx-h100, count: many}]",
                "count must be a number from 0 to 100000: got \"many\""},
        BadText{"bad_label", "  nodes: [{platform: dgx-h100, labels: {a: 1}}]",
                "label a must be a string: got 1"},
        BadText{"bad_taint", "  nodes: [{platform: dgx-h100, taints: [{key: a, effect: Never}]}]",
                "a taint needs key and effect"},
        BadText{"hami_list", "  nodes: [{platform: dgx-h100, hami: [4]}]", "hami: want a mapping"},
        BadText{"hami_field", "  nodes: [{platform: dgx-h100, hami: {split: 4}}]",
                "hami: unknown field \"split\""},
        BadText{"hami_count", "  nodes: [{platform: dgx-h100, hami: {deviceSplitCount: 0}}]",
                "hami: deviceSplitCount must be a number from 1 to 1000: got 0"},
        BadText{"hami_scale", "  nodes: [{platform: dgx-h100, hami: {deviceMemoryScaling: big}}]",
                "hami: deviceMemoryScaling must be a number from 0.001 to 100: got big"},
        BadText{"hami_and_replicas",
                "  nodes: [{platform: dgx-h100, hami: {}, devicePlugin: {version: v1, sharing: "
                "{timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}}}]",
                "GPUs are given as HAMi's vGPUs or as replicas, not both"},
        BadText{"same_name", "  nodes: [{platform: dgx-h100}, {platform: dgx-h100}]",
                "two nodes have the name \"dgx-h100-1\""},
        BadText{"fault_elsewhere",
                "  nodes: [{platform: dgx-h100}]\n  faults: ['1m:node-down:dgx-h100-2']",
                "names a node that does not exist: \"dgx-h100-2\""},
        BadText{"fault_gpu",
                "  nodes: [{platform: hgx-a100-4}]\n  faults: ['1m:xid:hgx-a100-4-1:4']",
                "has no GPU 4"},
        BadText{"mig_that_does_not_fit", "  nodes: [{platform: hgx-a100-4, mig: 3g.40gb=3}]",
                "spec.nodes[0]: "},
        BadText{"mig_of_what_cannot_be_cut", "  nodes: [{platform: t4-pcie-1, mig: 1g.10gb=1}]",
                "spec.nodes[0]: "},
        BadText{"device_plugin_with_an_unknown_field",
                "  nodes: [{platform: dgx-h100, devicePlugin: {share: 4}}]",
                "spec.nodes[0]: devicePlugin"},
        BadText{"unknown_kubelet_field", "  nodes: [{platform: dgx-h100, kubelet: {maxPods: 3}}]",
                "spec.nodes[0]: kubelet.maxPods: not a field that the agent knows"},
        BadText{"unknown_topology_policy",
                "  nodes: [{platform: dgx-h100, kubelet: {topologyManagerPolicy: strict}}]",
                "kubelet.topologyManagerPolicy: unknown policy: \"strict\""},
        BadText{"reserved_cpus_that_are_not_there",
                "  nodes: [{platform: dgx-h100, kubelet: {cpuManagerPolicy: static, "
                "reservedSystemCPUs: '500'}}]",
                "kubelet: reserved CPUs that the machine does not have: 500"},
        BadText{"bad_fault", "  nodes: [{platform: dgx-h100}]\n  faults: [7]",
                "spec.faults[0]: not a fault"}),
    [](const auto& one) { return one.param.name; });

} // namespace
} // namespace berth::cluster
