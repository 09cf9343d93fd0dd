// The catalogue's machines as `nvidia-smi topo -m` would show them, and their stated facts.
#include "berth/hardware/platform.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/api/yaml.h"
#include "berth/hardware/embedded.h"
#include "berth/hardware/platform_check.h"

namespace berth::hardware {
namespace {

const Platform& builtin(std::string_view name) {
  const auto* found = Catalogue::builtin().find(name);
  EXPECT_NE(found, nullptr) << name;
  return *found;
}

/// A GPU's row of the matrix: links to the GPUs, then to the NICs.
std::string row(const Platform& p, int gpu) {
  std::string text;
  for (const auto& other : p.gpus) {
    const auto link = p.link(gpu, other.index);
    text += link == Link::NVLink ? fmt::format("NV{} ", p.nvlinks[gpu][other.index])
                                 : fmt::format("{} ", to_string(link));
  }
  text += "|";
  for (int nic = 0; nic < std::ssize(p.nics); ++nic) {
    text += fmt::format(" {}", to_string(p.nic_link(gpu, nic)));
  }
  return text;
}

struct Row {
  std::string platform;
  int gpu;
  std::string want;
};

void PrintTo(const Row& value, std::ostream* out) {
  *out << value.platform;
}

class TopologyRows : public ::testing::TestWithParam<Row> {};

TEST_P(TopologyRows, ReadAsNvidiaSmiPrintsThem) {
  EXPECT_EQ(row(builtin(GetParam().platform), GetParam().gpu), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    All, TopologyRows,
    ::testing::Values(Row{"dgx-h100", 0,
                          "X NV18 NV18 NV18 NV18 NV18 NV18 NV18 | PXB NODE NODE NODE NODE NODE SYS "
                          "SYS SYS SYS SYS SYS"},
                      Row{"dgx-h100", 5,
                          "NV18 NV18 NV18 NV18 NV18 X NV18 NV18 | SYS SYS SYS SYS SYS SYS NODE "
                          "NODE NODE PXB NODE NODE"},
                      Row{"dgx-h200", 7,
                          "NV18 NV18 NV18 NV18 NV18 NV18 NV18 X | SYS SYS SYS SYS SYS SYS NODE "
                          "NODE NODE NODE NODE PXB"},
                      Row{"dgx-b200", 1,
                          "NV18 X NV18 NV18 NV18 NV18 NV18 NV18 | NODE NODE NODE PXB NODE NODE SYS "
                          "SYS SYS SYS SYS SYS"},
                      Row{"dgx-a100", 0,
                          "X NV12 NV12 NV12 NV12 NV12 NV12 NV12 | PXB PXB SYS SYS NODE NODE SYS "
                          "SYS SYS SYS SYS SYS"},
                      Row{"dgx-a100", 6,
                          "NV12 NV12 NV12 NV12 NV12 NV12 X NV12 | SYS SYS SYS SYS SYS SYS SYS SYS "
                          "PXB PXB SYS SYS"},
                      Row{"hgx-a100-4", 2, "NV4 NV4 X NV4 | SYS SYS"},
                      Row{"l40s-pcie-8", 0, "X PIX PXB PXB SYS SYS SYS SYS | PXB SYS"},
                      Row{"l40s-pcie-8", 5, "SYS SYS SYS SYS PIX X PXB PXB | SYS PXB"},
                      Row{"a10g-pcie-4", 1, "PHB X PHB PHB | PHB"}, Row{"t4-pcie-1", 0, "X | PHB"},
                      Row{"gb200-nvl72", 3, "NV18 NV18 NV18 X | SYS SYS SYS SYS SYS SYS SYS SYS"}),
    [](const auto& tested) {
      std::string name = fmt::format("{}_gpu{}", tested.param.platform, tested.param.gpu);
      std::ranges::replace(name, '-', '_');
      return name;
    });

TEST(Topology, WithoutNvLinkThePcieTreeShows) {
  EXPECT_EQ(builtin("dgx-a100").pcie_link(0, 1), Link::PXB);
  EXPECT_EQ(builtin("dgx-a100").pcie_link(0, 2), Link::SYS)
      << "another NUMA node of the same socket";
  EXPECT_EQ(builtin("dgx-h100").pcie_link(0, 3), Link::NODE);
  EXPECT_EQ(builtin("dgx-h100").pcie_link(3, 3), Link::Self);
}

TEST(Topology, IsSymmetric) {
  for (const auto& name : Catalogue::builtin().names()) {
    const auto& p = builtin(name);
    for (const auto& a : p.gpus) {
      for (const auto& b : p.gpus) {
        EXPECT_EQ(p.link(a.index, b.index), p.link(b.index, a.index)) << name;
        EXPECT_EQ(p.link(a.index, b.index) == Link::Self, a.index == b.index) << name;
      }
    }
  }
}

TEST(Topology, LinkWordsAreNvidiaSmis) {
  using enum Link;
  std::string words;
  for (const auto link : {Self, NVLink, C2C, PIX, PXB, PHB, NODE, SYS}) {
    words += fmt::format("{} ", to_string(link));
  }
  EXPECT_EQ(words, "X NV C2C PIX PXB PHB NODE SYS ");
}

// ---- facts
// ------------------------------------------------------------------------------------------------------------

struct Facts {
  std::string platform;
  std::string product;
  std::int64_t memory_mib;
  int gpus;
  std::string gpu_numa; ///< by GPU
  int compute_gbits;    ///< all rails
  int rails;
  bool mig;
};

void PrintTo(const Facts& value, std::ostream* out) {
  *out << value.platform;
}

class PlatformFacts : public ::testing::TestWithParam<Facts> {};

TEST_P(PlatformFacts, AreStated) {
  const auto& want = GetParam();
  const auto& p = builtin(want.platform);
  EXPECT_EQ(p.name, want.platform);
  EXPECT_EQ(p.gpu_model.product, want.product);
  EXPECT_EQ(p.gpu_model.memory_mib, want.memory_mib);
  EXPECT_EQ(std::ssize(p.gpus), want.gpus);
  EXPECT_EQ(p.gpu_model.mig_capable, want.mig);
  std::string numa;
  for (const auto& gpu : p.gpus) {
    numa += fmt::format("{}", gpu.numa);
  }
  EXPECT_EQ(numa, want.gpu_numa);
  int gbits = 0;
  std::set<int> rails;
  for (const auto& nic : p.nics) {
    gbits += nic.rail >= 0 ? nic.gbits : 0;
    if (nic.rail >= 0) {
      rails.insert(nic.rail);
    }
  }
  EXPECT_EQ(gbits, want.compute_gbits);
  EXPECT_EQ(std::ssize(rails), want.rails);
  EXPECT_EQ(*rails.rbegin(), want.rails - 1) << "rails are numbered from 0";
}

INSTANTIATE_TEST_SUITE_P(
    All, PlatformFacts,
    ::testing::Values(
        Facts{"dgx-a100", "NVIDIA-A100-SXM4-80GB", 81920, 8, "33117755", 1600, 8, true},
        Facts{"dgx-h100", "NVIDIA-H100-80GB-HBM3", 81559, 8, "00001111", 3200, 8, true},
        Facts{"dgx-h200", "NVIDIA-H200", 143771, 8, "00001111", 3200, 8, true},
        Facts{"dgx-b200", "NVIDIA-B200", 183359, 8, "00001111", 3200, 8, true},
        Facts{"gb200-nvl72", "NVIDIA-GB200", 189471, 4, "0011", 1600, 4, true},
        Facts{"hgx-a100-4", "NVIDIA-A100-SXM4-80GB", 81920, 4, "3175", 400, 2, true},
        Facts{"l40s-pcie-8", "NVIDIA-L40S", 46068, 8, "00001111", 400, 2, false},
        Facts{"a10g-pcie-4", "NVIDIA-A10G", 23028, 4, "0000", 40, 1, false},
        Facts{"t4-pcie-1", "Tesla-T4", 15360, 1, "0", 20, 1, false}),
    [](const auto& tested) {
      std::string name = tested.param.platform;
      std::ranges::replace(name, '-', '_');
      return name;
    });

TEST(CatalogueNames, AreTheNineScriptsRelyOn) {
  EXPECT_THAT(Catalogue::builtin().names(),
              ::testing::ElementsAre("a10g-pcie-4", "dgx-a100", "dgx-b200", "dgx-h100", "dgx-h200",
                                     "gb200-nvl72", "hgx-a100-4", "l40s-pcie-8", "t4-pcie-1"));
  EXPECT_EQ(Catalogue::builtin().find("dgx-x100"), nullptr);
  EXPECT_EQ(Catalogue::builtin().find(""), nullptr);
}

TEST(CatalogueFiles, AreSoundInEveryField) {
  for (const auto& file : embedded_platforms()) {
    const auto read = Catalogue::parse_platform(file.text(), file.name);
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_THAT(check_platform(*read), ::testing::IsEmpty()) << file.name;
  }
}

TEST(CatalogueFiles, GpuOrderIsThatOfBusIds) {
  for (const auto& name : Catalogue::builtin().names()) {
    const auto& p = builtin(name);
    EXPECT_TRUE(std::ranges::is_sorted(p.gpus, {}, &Gpu::pci_bus_id))
        << name << ": drivers number GPUs by bus id";
    EXPECT_TRUE(std::ranges::all_of(p.gpus, [](const Gpu& g) { return g.pci_bus_id.size() == 16; }))
        << name;
    EXPECT_TRUE(std::ranges::is_sorted(p.nics, {}, &Nic::pci_bus_id)) << name;
  }
}

TEST(DgxH100, RailsSitBesideTheirGpu) {
  const auto& p = builtin("dgx-h100");
  const std::vector<std::string> beside{"mlx5_0", "mlx5_3", "mlx5_4",  "mlx5_5",
                                        "mlx5_6", "mlx5_9", "mlx5_10", "mlx5_11"};
  for (int gpu = 0; gpu < 8; ++gpu) {
    for (int nic = 0; nic < std::ssize(p.nics); ++nic) {
      const bool own = p.nics[nic].name == beside[gpu];
      EXPECT_EQ(p.nic_link(gpu, nic) == Link::PXB, own) << gpu << ' ' << p.nics[nic].name;
      EXPECT_EQ(p.nics[nic].rail == gpu, own);
    }
  }
}

TEST(TopSwitch, WalksToTheOutermost) {
  const auto& p = builtin("l40s-pcie-8");
  EXPECT_EQ(p.top_switch(-1), -1);
  EXPECT_EQ(p.top_switch(0), 0);
  EXPECT_EQ(p.top_switch(2), 0);
  EXPECT_EQ(p.top_switch(5), 3);
}

// ---- whose node is it
// -------------------------------------------------------------------------------------------------

struct NodeCase {
  std::string name;
  api::Labels labels;
  std::string want; ///< "" for unknown
};

void PrintTo(const NodeCase& value, std::ostream* out) {
  *out << value.name;
}

class PlatformOfNode : public ::testing::TestWithParam<NodeCase> {};

TEST_P(PlatformOfNode, IsFoundByLabels) {
  model::Node node;
  node.meta.labels = GetParam().labels;
  const auto* found = Catalogue::builtin().of_node(node);
  EXPECT_EQ(found == nullptr ? "" : found->name, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    All, PlatformOfNode,
    ::testing::Values(
        NodeCase{"NoLabels", {}, ""},
        NodeCase{"NamedPlatform", {{"berth.dev/platform", "dgx-h100"}}, "dgx-h100"},
        NodeCase{"NameWinsOverInstanceType",
                 {{"berth.dev/platform", "dgx-h100"},
                  {"node.kubernetes.io/instance-type", "g5.12xlarge"}},
                 "dgx-h100"},
        NodeCase{
            "UnknownNameFallsThrough",
            {{"berth.dev/platform", "dgx-x"}, {"node.kubernetes.io/instance-type", "g5.12xlarge"}},
            "a10g-pcie-4"},
        NodeCase{
            "InstanceType", {{"node.kubernetes.io/instance-type", "g5.12xlarge"}}, "a10g-pcie-4"},
        NodeCase{"OtherInstanceTypeOfTheSameGraph",
                 {{"node.kubernetes.io/instance-type", "g4dn.xlarge"}},
                 "t4-pcie-1"},
        NodeCase{
            "InstanceTypeWithAnotherCount",
            {{"node.kubernetes.io/instance-type", "g5.12xlarge"}, {"nvidia.com/gpu.count", "2"}},
            ""},
        NodeCase{
            "ProductAndCount",
            {{"nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"}, {"nvidia.com/gpu.count", "8"}},
            "dgx-h100"},
        NodeCase{
            "ProductAloneIsTooLittle", {{"nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"}}, ""},
        NodeCase{
            "ProductWithHalfTheGpus",
            {{"nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"}, {"nvidia.com/gpu.count", "4"}},
            ""},
        NodeCase{
            "CountTellsA100sApart",
            {{"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB"}, {"nvidia.com/gpu.count", "4"}},
            "hgx-a100-4"},
        NodeCase{"OlderProductName",
                 {{"nvidia.com/gpu.product", "A100-SXM4-40GB"}, {"nvidia.com/gpu.count", "8"}},
                 "dgx-a100"},
        NodeCase{"CountThatIsNoNumber",
                 {{"nvidia.com/gpu.product", "NVIDIA-L40S"}, {"nvidia.com/gpu.count", "8x"}},
                 ""},
        NodeCase{"NamedPlatformWithAnotherCount",
                 {{"berth.dev/platform", "dgx-h100"}, {"nvidia.com/gpu.count", "4"}},
                 ""},
        NodeCase{"TimeSlices",
                 {{"berth.dev/platform", "l40s-pcie-8"},
                  {"nvidia.com/gpu.sharing-strategy", "time-slicing"}},
                 ""},
        NodeCase{"SharedProduct",
                 {{"berth.dev/platform", "l40s-pcie-8"},
                  {"nvidia.com/gpu.product", "NVIDIA-L40S-SHARED"}},
                 ""},
        NodeCase{"MigDevicesAsGpus",
                 {{"berth.dev/platform", "dgx-a100"},
                  {"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"}},
                 ""},
        NodeCase{
            "SharingNone",
            {{"berth.dev/platform", "l40s-pcie-8"}, {"nvidia.com/gpu.sharing-strategy", "none"}},
            "l40s-pcie-8"}),
    [](const auto& tested) { return tested.param.name; });

TEST(PlatformOfNode, DevicesOfTheNodeMustNotContradictIt) {
  model::Node node;
  node.meta.labels["berth.dev/platform"] = "dgx-h100";
  const auto with_devices = [&](std::int64_t devices) {
    node.capacity["nvidia.com/gpu"] = api::Quantity::from_int(devices);
    return Catalogue::builtin().of_node(node) != nullptr;
  };
  EXPECT_TRUE(with_devices(8));
  EXPECT_TRUE(with_devices(0)) << "no device plugin yet";
  EXPECT_FALSE(with_devices(32)) << "each GPU four times";
  EXPECT_FALSE(with_devices(6)) << "two are cut into MIG devices";
  node.meta.annotations["berth.dev/unhealthy-gpus"] = "0,7";
  EXPECT_TRUE(with_devices(6)) << "the two unhealthy ones are left out";
  EXPECT_FALSE(with_devices(5));
  with_devices(8);
  node.allocatable["nvidia.com/gpu"] = api::Quantity::from_int(7);
  EXPECT_TRUE(Catalogue::builtin().of_node(node)) << "one is unhealthy";
}

TEST(PlatformOfNode, EveryPlatformRecognisesItsOwnLabelsEvenWithoutItsName) {
  for (const auto& name : Catalogue::builtin().names()) {
    model::Node node;
    node.meta.labels = node_labels(builtin(name));
    EXPECT_EQ(Catalogue::builtin().of_node(node), &builtin(name));
    node.meta.labels.erase("berth.dev/platform");
    EXPECT_EQ(Catalogue::builtin().of_node(node), &builtin(name));
    node.meta.labels.erase("node.kubernetes.io/instance-type");
    EXPECT_EQ(Catalogue::builtin().of_node(node), &builtin(name));
  }
}

} // namespace
} // namespace berth::hardware
