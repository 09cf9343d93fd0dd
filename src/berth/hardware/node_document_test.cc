#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/json.h"
#include "berth/api/object.h"
#include "berth/hardware/identity.h"
#include "berth/hardware/platform.h"

namespace berth::hardware {
namespace {

using ::testing::MatchesRegex;

const Platform& builtin(std::string_view name) {
  return *Catalogue::builtin().find(name);
}

TEST(NodeLabels, OfADgxH100AreThoseOfFeatureDiscovery) {
  const api::Labels want{
      {"berth.dev/platform", "dgx-h100"},
      {"beta.kubernetes.io/arch", "amd64"},
      {"beta.kubernetes.io/os", "linux"},
      {"kubernetes.io/arch", "amd64"},
      {"kubernetes.io/os", "linux"},
      {"node.kubernetes.io/instance-type", "dgx-h100"},
      {"nvidia.com/cuda.driver-version.full", "580.95.05"},
      {"nvidia.com/cuda.driver-version.major", "580"},
      {"nvidia.com/cuda.driver-version.minor", "95"},
      {"nvidia.com/cuda.driver-version.revision", "05"},
      {"nvidia.com/cuda.driver.major", "580"},
      {"nvidia.com/cuda.driver.minor", "95"},
      {"nvidia.com/cuda.driver.rev", "05"},
      {"nvidia.com/cuda.runtime-version.full", "13.0"},
      {"nvidia.com/cuda.runtime-version.major", "13"},
      {"nvidia.com/cuda.runtime-version.minor", "0"},
      {"nvidia.com/cuda.runtime.major", "13"},
      {"nvidia.com/cuda.runtime.minor", "0"},
      {"nvidia.com/gpu.compute.major", "9"},
      {"nvidia.com/gpu.compute.minor", "0"},
      {"nvidia.com/gpu.count", "8"},
      {"nvidia.com/gpu.family", "hopper"},
      {"nvidia.com/gpu.machine", "DGXH100"},
      {"nvidia.com/gpu.memory", "81559"},
      {"nvidia.com/gpu.mode", "compute"},
      {"nvidia.com/gpu.present", "true"},
      {"nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"},
      {"nvidia.com/gpu.replicas", "1"},
      {"nvidia.com/gpu.sharing-strategy", "none"},
      {"nvidia.com/mig.capable", "true"},
      {"nvidia.com/mps.capable", "false"},
      {"nvidia.com/vgpu.present", "false"},
  };
  EXPECT_EQ(node_labels(builtin("dgx-h100")), want);
}

TEST(NodeLabels, AreValidLabelValues) {
  const std::regex value("([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?");
  for (const auto& name : Catalogue::builtin().names()) {
    for (const auto& [key, text] : node_labels(builtin(name))) {
      EXPECT_TRUE(std::regex_match(text, value)) << name << ' ' << key << '=' << text;
      EXPECT_LE(text.size(), 63U);
    }
  }
  EXPECT_EQ(node_labels(builtin("dgx-a100"))["nvidia.com/gpu.machine"],
            "DGXA100-920-23687-2530-000");
  EXPECT_EQ(node_labels(builtin("gb200-nvl72"))["kubernetes.io/arch"], "arm64");
}

TEST(NodeDocument, OfAnL40sServer) {
  const auto document = node_document(builtin("l40s-pcie-8"), "l40s-1");
  EXPECT_EQ(api::string_at(document, "apiVersion"), "v1");
  EXPECT_EQ(api::string_at(document, "kind"), "Node");
  EXPECT_EQ(api::string_at(document, "metadata.name"), "l40s-1");
  const auto* labels = api::find_path(document, "metadata.labels");
  ASSERT_NE(labels, nullptr);
  EXPECT_EQ(labels->at("kubernetes.io/hostname").as_string(), "l40s-1");
  EXPECT_EQ(labels->at("nvidia.com/mig.capable").as_string(), "false");
  EXPECT_FALSE(labels->as_object().contains("nvidia.com/gpu.clique"));
  EXPECT_EQ(
      api::to_json(*api::find_path(document, "status.capacity")),
      R"({"cpu":"128","ephemeral-storage":"937426944Ki","hugepages-1Gi":"0","hugepages-2Mi":"0","memory":"1073741824Ki","nvidia.com/gpu":"8","pods":"110"})");
  // 60 + 10 + 2 * 5 + 124 * 2.5 = 390 milli; 1 + 0.8 + 0.8 + 6.72 + 17.92 GiB + 100 MiB.
  EXPECT_EQ(
      api::to_json(*api::find_path(document, "status.allocatable")),
      R"({"cpu":"127610m","ephemeral-storage":"863932671590","hugepages-1Gi":"0","hugepages-2Mi":"0","memory":"1045076217Ki","nvidia.com/gpu":"8","pods":"110"})");
}

TEST(NodeDocument, IsHealthyAndReadsAsANode) {
  for (const auto& name : Catalogue::builtin().names()) {
    const auto& p = builtin(name);
    const auto object = api::Object::from_json(node_document(p, name + "-1"));
    ASSERT_TRUE(object) << to_string(object.error());
    const auto node = model::node_view(*object);
    ASSERT_TRUE(node) << to_string(node.error());
    EXPECT_TRUE((*node)->ready()) << name;
    EXPECT_TRUE((*node)->taints.empty());
    EXPECT_EQ((*node)->capacity.at("nvidia.com/gpu").value(), std::ssize(p.gpus));
    EXPECT_EQ((*node)->allocatable.at("nvidia.com/gpu"), (*node)->capacity.at("nvidia.com/gpu"));
    for (const auto& [resource, capacity] : (*node)->capacity) {
      ASSERT_TRUE((*node)->allocatable.contains(resource)) << name;
      EXPECT_LE((*node)->allocatable.at(resource), capacity) << name << ' ' << resource;
    }
    EXPECT_LT((*node)->allocatable.at("cpu"), (*node)->capacity.at("cpu"));
    EXPECT_LT((*node)->allocatable.at("memory"), (*node)->capacity.at("memory"));
    EXPECT_EQ(Catalogue::builtin().of_node(**node), &p);
  }
}

TEST(NodeDocument, IsAFunctionOfItsArguments) {
  const auto& p = builtin("dgx-h100");
  EXPECT_EQ(node_document(p, "a-1"), node_document(p, "a-1"));
  const auto a = node_document(p, "a-1");
  const auto b = node_document(p, "a-2");
  for (const auto* path :
       {"status.nodeInfo.machineID", "status.nodeInfo.systemUUID", "status.nodeInfo.bootID"}) {
    EXPECT_NE(api::string_at(a, path), api::string_at(b, path)) << path;
    EXPECT_NE(api::string_at(a, path), "") << path;
  }
}

TEST(NodeDocument, AddressesOfOneFleetDiffer) {
  std::set<std::string> seen;
  for (int i = 1; i <= 5000; ++i) {
    const auto document = node_document(builtin("t4-pcie-1"), fmt::format("t4-{}", i));
    const auto& address = api::find_path(document, "status.addresses")->at(0);
    EXPECT_EQ(api::string_at(address, "type"), "InternalIP");
    const std::string ip(api::string_at(address, "address"));
    EXPECT_THAT(ip, MatchesRegex("10\\.[0-9]+\\.[0-9]+\\.[0-9]+"));
    EXPECT_TRUE(seen.insert(ip).second) << ip;
  }
}

TEST(GpuUuid, IsStableUniqueAndWellFormed) {
  std::set<std::string> seen;
  for (int node = 1; node <= 500; ++node) {
    for (int gpu = 0; gpu < 16; ++gpu) {
      const auto name = fmt::format("dgx-h100-{}", node);
      const auto uuid = gpu_uuid(name, gpu);
      EXPECT_EQ(uuid, gpu_uuid(name, gpu));
      EXPECT_THAT(
          uuid,
          MatchesRegex("GPU-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
      EXPECT_TRUE(seen.insert(uuid).second) << uuid;
    }
  }
}

TEST(GpuClique, IsSharedByTheTraysOfOneRack) {
  const auto& tray = builtin("gb200-nvl72");
  const auto clique = [&](int i) { return gpu_clique(tray, fmt::format("gb200-nvl72-{}", i)); };
  EXPECT_THAT(
      clique(1),
      MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\\.1"));
  EXPECT_EQ(clique(1), clique(18));
  EXPECT_NE(clique(18), clique(19));
  EXPECT_EQ(clique(19), clique(36));
  EXPECT_NE(clique(1), gpu_clique(tray, "other-1")) << "another fleet, another rack";
  EXPECT_EQ(gpu_clique(tray, "tray"), gpu_clique(tray, "tray"));
  EXPECT_EQ(gpu_clique(builtin("dgx-h100"), "dgx-h100-1"), "");
  const auto labels = *api::find_path(node_document(tray, "gb200-nvl72-1"), "metadata.labels");
  EXPECT_EQ(labels.at("nvidia.com/gpu.clique").as_string(), clique(1));
}

TEST(SplitNumber, TakesTheDigitsAfterTheLastDash) {
  EXPECT_EQ(split_number("dgx-h100-12").number, 12);
  EXPECT_EQ(split_number("dgx-h100-12").stem, "dgx-h100");
  EXPECT_EQ(split_number("dgx-h100").number, -1);
  EXPECT_EQ(split_number("dgx-h100").stem, "dgx-h100");
  EXPECT_EQ(split_number("node").number, -1);
  EXPECT_EQ(split_number("a-").number, -1);
  EXPECT_EQ(split_number("").number, -1);
  EXPECT_EQ(split_number("a-99999999999999999999").number, -1);
}

} // namespace
} // namespace berth::hardware
