#include "berth/cli/run/load.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/testing/temp_files.h"

namespace berth::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class LoadTest : public test::TempFiles {
 protected:
  Load load(const std::string& text, RunOptions options = {}) {
    options.files = {write("in.yaml", text)};
    return load_run(options);
  }
};

std::vector<std::string> names(const Load& load) {
  std::vector<std::string> out;
  for (const api::Manifest& manifest : load.objects) {
    out.push_back(manifest.object.gvk().kind + " " + manifest.object.key().to_string());
  }
  return out;
}

TEST_F(LoadTest, ObjectsWithoutANamespaceGetTheOneAskedFor) {
  RunOptions options;
  options.ns = "team-a";
  const Load l = load(
      "{apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\n"
      "{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: default}}\n---\n"
      "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1}\n",
      options);
  ASSERT_TRUE(l.errors.empty()) << to_string(l.errors[0]);
  EXPECT_THAT(names(l), ElementsAre("Namespace team-a", "Pod team-a/a", "Pod default/b",
                                    "PriorityClass high"));
  ASSERT_EQ(l.notes.size(), 2U);
  EXPECT_THAT(l.notes[0].message, HasSubstr("running on 2 dgx-h100 nodes"));
  EXPECT_THAT(l.notes[1].message, HasSubstr("made the namespace that no manifest defines: team-a"));
}

TEST_F(LoadTest, DefinedNamespacesAreNotMade) {
  const Load l = load("{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: x}}\n---\n"
                      "{apiVersion: v1, kind: Namespace, metadata: {name: x}}\n");
  EXPECT_THAT(names(l), ElementsAre("Pod x/a", "Namespace x"));
}

TEST_F(LoadTest, WhatAServerSetIsDropped) {
  const Load l = load(R"({apiVersion: v1, kind: Pod,
    metadata: {name: a, uid: u, resourceVersion: "5", labels: {app: a}, creationTimestamp: "2026-01-01T00:00:00Z",
               ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: r}]},
    spec: {containers: []}, status: {phase: Running}})");
  ASSERT_EQ(l.objects.size(), 1U);
  EXPECT_EQ(
      api::to_json(l.objects[0].object.json()),
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"app":"a"},"namespace":"default"},)"
      R"("spec":{"containers":[]}})");
}

TEST_F(LoadTest, OwnersThatAPersonWroteStay) {
  const Load l =
      load("{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default, ownerReferences: "
           "[{apiVersion: v1, kind: Pod, name: o, uid: o}]}}");
  ASSERT_EQ(l.objects.size(), 1U);
  EXPECT_EQ(l.objects[0].object.meta().owner_references.size(), 1U);
}

TEST_F(LoadTest, GeneratedNamesNeverClash) {
  const std::string one = "{apiVersion: v1, kind: Pod, metadata: {generateName: a-}}\n";
  EXPECT_EQ(load(one + "---\n" + one).objects.size(), 2U);
}

TEST_F(LoadTest, NodesOfOnePlatformAreCountedTogether) {
  RunOptions options;
  options.nodes = {{.platform = "t4-pcie-1", .count = 2, .prefix = "", .labels = {}, .taints = {}},
                   {.platform = "t4-pcie-1", .count = 1, .prefix = "", .labels = {}, .taints = {}}};
  const Load l = load("{apiVersion: v1, kind: Pod, metadata: {name: a}}", options);
  ASSERT_TRUE(l.errors.empty()) << to_string(l.errors[0]);
  ASSERT_EQ(l.spec.groups.size(), 1U);
  EXPECT_EQ(l.spec.groups[0].count, 3);
  EXPECT_TRUE(l.notes.empty());
}

TEST_F(LoadTest, AClusterFileGivesNodesAndFaults) {
  RunOptions options;
  options.cluster_files = {write("cluster.yaml", R"(apiVersion: berth.dev/v1alpha1
kind: Cluster
metadata: {name: c}
spec:
  nodes: [{platform: dgx-a100, count: 3, name: a}]
  faults: ["1m:node-down:a-3"]
)")};
  const Load l = load("{apiVersion: v1, kind: Pod, metadata: {name: p}}", options);
  ASSERT_TRUE(l.errors.empty()) << to_string(l.errors[0]);
  EXPECT_EQ(l.spec.node_count(), 3);
  ASSERT_EQ(l.spec.faults.size(), 1U);
  EXPECT_EQ(l.spec.faults[0].node, "a-3");
}

TEST_F(LoadTest, ATopologyFileGivesLabelsToNodesThatLackThem) {
  RunOptions options;
  options.nodes = {{.platform = "t4-pcie-1", .count = 2, .prefix = "", .labels = {}, .taints = {}}};
  options.topology_files = {write("topology.yaml", R"(kind: Topology
spec:
  levels:
    - label: berth.dev/rack
      domains: {r1: ["t4-pcie-1-[1-2]", old], r2: [new, "t4-pcie-1-3"]}
)")};
  const Load l = load("{apiVersion: v1, kind: Node, metadata: {name: new}}\n---\n"
                      "{apiVersion: v1, kind: Node, metadata: {name: old, labels: "
                      "{berth.dev/rack: r9}}}",
                      options);
  ASSERT_TRUE(l.errors.empty()) << to_string(l.errors[0]);
  EXPECT_EQ(l.spec.node_labels.at("t4-pcie-1-2").at("berth.dev/rack"), "r1");
  ASSERT_EQ(l.spec.nodes.size(), 2U);
  EXPECT_EQ(l.spec.nodes[0].object.meta().labels.at("berth.dev/rack"), "r2");
  EXPECT_EQ(l.spec.nodes[1].object.meta().labels.at("berth.dev/rack"), "r9");
  ASSERT_EQ(l.notes.size(), 1U);
  EXPECT_EQ(l.notes[0].message,
            "--topology names 1 node that the cluster does not have: t4-pcie-1-3");
}

TEST_F(LoadTest, AWrongTopologyFileSaysWhere) {
  RunOptions options;
  const std::string path = write("topology.yaml", "kind: Topology\nspec: {levels: [{label: 7}]}\n");
  options.topology_files = {path};
  const Load l = load("{apiVersion: v1, kind: Pod, metadata: {name: p}}", options);
  ASSERT_EQ(l.errors.size(), 1U);
  EXPECT_EQ(to_string(l.errors[0]).find(path + ":2:25"), 0U) << to_string(l.errors[0]);
}

TEST_F(LoadTest, TheExampleClusterIsValid) {
  RunOptions options;
  options.files = {std::string(BERTH_SOURCE_DIR) + "/examples"};
  options.cluster_files = {std::string(BERTH_SOURCE_DIR) + "/examples/clusters/mixed.yaml"};
  const Load l = load_run(options);
  ASSERT_TRUE(l.errors.empty()) << to_string(l.errors[0]);
  EXPECT_EQ(l.spec.node_count(), 7);
  EXPECT_TRUE(l.notes.empty());
}

} // namespace
} // namespace berth::cli
