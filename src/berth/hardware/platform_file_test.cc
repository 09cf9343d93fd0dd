#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/hardware/embedded.h"
#include "berth/hardware/fields.h"
#include "berth/hardware/platform.h"
#include "berth/hardware/platform_check.h"

namespace berth::hardware {
namespace {

using ::testing::HasSubstr;

/// A small valid file: two sockets, two bridged GPUs below one switch, one NIC.
const std::string kGood = R"(name: tiny
title: A tiny machine
machine: Tiny 1
instance_type: tiny
also_instance_types: [small]
also_products: []
cpu: {name: Some CPU, vendor: GenuineIntel, architecture: amd64, family: 6, model: 85}
sockets: 2
cpus: 8
memory_gib: 64
inter_socket_mbps: 10000
disks: {root_gib: 100, nvme_drives: 1, nvme_gib: 900}
gpu_model:
  product: NVIDIA-A100-PCIE-40GB
  family: ampere
  compute: [8, 0]
  memory_mib: 40960
  mig_capable: true
  pci_device: 0x20f1
  pcie: {gen: 4, width: 16, mbps: 24000}
  nvlink: {links: 12, mbps_per_link: 20000}
  nvls: {efficiency_percent: 0, ceiling_mbps: 0}
fabric: {nvswitch: false, nvls: false, c2c: false, domain_gpus: 0}
numa:
- {id: 0, socket: 0, cpus: "0-1,4-5"}
- {id: 1, socket: 1, cpus: "2-3,6-7"}
pcie_switches:
- {id: 0, parent: -1, root_complex: 0}
gpus:
- {index: 0, numa: 0, root_complex: 0, pcie_switch: 0, pci_bus_id: "00000000:01:00.0"}
- {index: 1, numa: 0, root_complex: 0, pcie_switch: 0, pci_bus_id: "00000000:02:00.0"}
nvlinks:
- {between: [0, 1], links: 12}
nics:
- {name: mlx5_0, rail: 0, gbits: 100, numa: 1, root_complex: 1, pcie_switch: -1, pci_bus_id: "0000:81:00.0", model: ConnectX-6, layer: ethernet}
)";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(PlatformFile, AnotherFileIsNamedAsSuch) {
  const auto error = [](std::string_view text) {
    const auto read = Catalogue::parse_platform(text, "x.yaml");
    return read ? std::string() : to_string(read.error());
  };
  const std::string how = "; berth hardware import makes one of what nvidia-smi topo -m prints";
  EXPECT_EQ(error(""), "x.yaml: the file is empty, no platform file" + how);
  EXPECT_EQ(error("# nothing\n"), "x.yaml: the file is empty, no platform file" + how);
  EXPECT_EQ(error(kGood + "---\n" + kGood),
            "x.yaml: a platform file holds one document, this one 2");
  for (const std::string other : {"kind: Pod\nmetadata: {name: a}\n", "[1]\n", "words\n"}) {
    EXPECT_EQ(error(other), "x.yaml: no platform file: it has neither name nor gpus" + how);
  }
}

TEST(PlatformFile, ReadsEveryField) {
  const auto read = Catalogue::parse_platform(kGood, "tiny.yaml");
  ASSERT_TRUE(read) << to_string(read.error());
  const Platform& p = *read;
  EXPECT_EQ(p.name, "tiny");
  EXPECT_EQ(p.title, "A tiny machine");
  EXPECT_EQ(p.machine, "Tiny 1");
  EXPECT_EQ(p.also_instance_types, std::vector<std::string>{"small"});
  EXPECT_EQ(p.cpu_model.model, 85);
  EXPECT_EQ(p.numa_nodes, 2);
  EXPECT_EQ(p.socket_of(1), 1);
  EXPECT_EQ(p.cpus, 8);
  EXPECT_EQ(p.disks.nvme_gib, 900);
  EXPECT_EQ(p.gpu_model.compute_major, 8);
  EXPECT_EQ(p.gpu_model.pci_device, 0x20f1);
  EXPECT_EQ(p.gpu_model.pcie_gen, 4);
  ASSERT_EQ(p.gpus.size(), 2U);
  EXPECT_EQ(p.gpus[1].pci_bus_id, "00000000:02:00.0");
  EXPECT_EQ(p.gpus[1].memory_numa, -1);
  EXPECT_EQ(p.nvlinks[1][0], 12);
  ASSERT_EQ(p.nics.size(), 1U);
  EXPECT_EQ(p.nics[0].layer, "ethernet");
  EXPECT_NE(p.table, nullptr);
}

struct BadFile {
  std::string name;
  std::string from;
  std::string to;
  int line;
  std::string field;
  std::string message;
};

void PrintTo(const BadFile& file, std::ostream* out) {
  *out << file.name;
}

class PlatformFileErrors : public ::testing::TestWithParam<BadFile> {};

TEST_P(PlatformFileErrors, NameFileLineAndField) {
  const auto& c = GetParam();
  const auto read = Catalogue::parse_platform(replaced(kGood, c.from, c.to), "tiny.yaml");
  ASSERT_FALSE(read);
  const auto& error = read.error();
  ASSERT_TRUE(error.where) << to_string(error);
  EXPECT_EQ(error.where->file, "tiny.yaml");
  EXPECT_EQ(error.where->line, c.line) << to_string(error);
  EXPECT_EQ(error.where->field, c.field) << to_string(error);
  EXPECT_THAT(error.message, HasSubstr(c.message));
  EXPECT_EQ(error.code, Code::Invalid);
}

INSTANTIATE_TEST_SUITE_P(
    All, PlatformFileErrors,
    ::testing::Values(
        BadFile{"MissingField", "sockets: 2\n", "", 1, "", "required field is missing: sockets"},
        BadFile{"UnknownField", "sockets: 2\n", "sockets: 2\nsokets: 2\n", 9, "sokets",
                "unknown field: sokets"},
        BadFile{"UnknownNestedField", "links: 12, mbps", "lanes: 3, links: 12, mbps", 21,
                "gpu_model.nvlink.lanes", "unknown field: lanes"},
        BadFile{"TextForNumber", "cpus: 8\n", "cpus: eight\n", 9, "cpus",
                "expected an integer from 1 to 65536, found a string"},
        BadFile{"NumberForText", "name: tiny\n", "name: 5\n", 1, "name",
                "expected a non-empty string, found an integer"},
        BadFile{"EmptyText", "name: tiny\n", "name: ''\n", 1, "name",
                "expected a non-empty string"},
        BadFile{"FractionForNumber", "memory_gib: 64", "memory_gib: 1.5", 10, "memory_gib",
                "found a fraction"},
        BadFile{"NumberTooLarge", "memory_gib: 64", "memory_gib: 99999999999999999999", 10,
                "memory_gib", "integer"},
        BadFile{"NumberOutOfRange", "gbits: 100", "gbits: 0", 35, "nics[0].gbits",
                "must be from 1 to 10000: 0"},
        BadFile{"FlagMistyped", "nvswitch: false", "nvswitch: 1", 23, "fabric.nvswitch",
                "expected true or false, found an integer"},
        BadFile{"SequenceMistyped", "also_products: []", "also_products: x", 6, "also_products",
                "expected a sequence, found a string"},
        BadFile{"ItemMistyped", "also_products: []", "also_products: [1]", 6, "also_products[0]",
                "expected a string, found an integer"},
        BadFile{"PairTooLong", "compute: [8, 0]", "compute: [8, 0, 1]", 16, "gpu_model.compute",
                "expected a sequence of 2 integers"},
        BadFile{"MappingMistyped", "disks: {root_gib: 100, nvme_drives: 1, nvme_gib: 900}",
                "disks: []", 12, "disks", "expected a mapping, found a sequence"},
        BadFile{"NullForMapping", "disks: {root_gib: 100, nvme_drives: 1, nvme_gib: 900}",
                "disks:", 12, "disks", "expected a mapping, found nothing"},
        BadFile{"GpuIndexRepeated", "index: 1", "index: 0", 31, "gpus[1].index",
                "expected 1, found 0"},
        BadFile{"GpuOnUnknownNuma", "{index: 1, numa: 0", "{index: 1, numa: 2", 31, "gpus[1].numa",
                "no such NUMA node; the machine has 2: 2"},
        BadFile{"GpuOnUnknownSwitch", "pcie_switch: 0, pci_bus_id: \"00000000:02",
                "pcie_switch: 4, pci_bus_id: \"00000000:02", 31, "gpus[1].pcie_switch",
                "no such switch"},
        BadFile{"GpuOnOtherRootThanItsSwitch",
                "root_complex: 0, pcie_switch: 0, pci_bus_id: \"00000000:02",
                "root_complex: 3, pcie_switch: 0, pci_bus_id: \"00000000:02", 31,
                "gpus[1].root_complex", "switch 0 is on root complex 0: 3"},
        BadFile{"RootComplexOnTwoNumaNodes", "{index: 1, numa: 0", "{index: 1, numa: 1", 31,
                "gpus[1].numa", "root complex 0 is on NUMA node 0: 1"},
        BadFile{"BusIdRepeated", "00000000:02:00.0", "00000000:01:00.0", 31, "gpus[1].pci_bus_id",
                "used twice"},
        BadFile{"NicOnGpusBusId", "0000:81:00.0", "0000:01:00.0", 35, "nics[0].pci_bus_id",
                "used twice"},
        BadFile{"NicLayer", "layer: ethernet", "layer: token-ring", 35, "nics[0].layer",
                "expected infiniband or ethernet: token-ring"},
        BadFile{"SwitchBelowItself", "{id: 0, parent: -1", "{id: 0, parent: 0", 28,
                "pcie_switches[0].parent", "a parent is listed before its children: 0"},
        BadFile{"SwitchIdsWithGap", "{id: 0, parent: -1", "{id: 1, parent: -1", 28,
                "pcie_switches[0].id", "expected 0, found 1"},
        BadFile{"NumaIdsWithGap", "{id: 1, socket: 1", "{id: 2, socket: 1", 26, "numa[1].id",
                "expected 1, found 2"},
        BadFile{"NumaOnUnknownSocket", "{id: 1, socket: 1", "{id: 1, socket: 2", 26,
                "numa[1].socket", "no such socket; the machine has 2: 2"},
        BadFile{"CpuListMalformed", "\"2-3,6-7\"", "\"3-2\"", 26, "numa[1].cpus", "not a CPU list"},
        BadFile{"CpuCountDiffers", "cpus: 8\n", "cpus: 9\n", 9, "cpus",
                "the NUMA nodes list 8 CPUs: 9"},
        BadFile{"LinkToItself", "between: [0, 1]", "between: [1, 1]", 33, "nvlinks[0].between",
                "no link to itself"},
        BadFile{"LinkToNoGpu", "between: [0, 1]", "between: [0, 2]", 33, "nvlinks[0].between[1]",
                "must be from 0 to 1: 2"},
        BadFile{"LinkGivenTwice", "- {between: [0, 1], links: 12}\n",
                "- {between: [0, 1], links: 6}\n- {between: [1, 0], links: 6}\n", 34,
                "nvlinks[1].between", "pair given twice"},
        BadFile{"MoreLinksThanTheGpuHas", "[0, 1], links: 12", "[0, 1], links: 13", 33, "nvlinks",
                "GPU 0 has 12 links, 13 are used"},
        BadFile{"LinksBesideNvSwitch", "nvswitch: false", "nvswitch: true", 33, "nvlinks[0]",
                "only listed for machines without NVSwitch"},
        BadFile{"ReductionWithoutSwitch", "nvls: false", "nvls: true", 23, "fabric.nvls",
                "needs an NVSwitch"},
        BadFile{"DomainWithoutSwitch", "domain_gpus: 0", "domain_gpus: 72", 23,
                "fabric.domain_gpus", "whole nodes over switches: 72"},
        BadFile{"LinksWithoutRate", "mbps_per_link: 20000", "mbps_per_link: 0", 21,
                "gpu_model.nvlink.mbps_per_link", "links need a rate"}),
    [](const auto& tested) { return tested.param.name; });

TEST(PlatformFile, ReportsAllFaultsAtOnce) {
  auto text = replaced(kGood, "cpus: 8\n", "cpus: eight\n");
  text = replaced(text, "gbits: 100", "gbits: 0");
  const auto read = Catalogue::parse_platform(text, "tiny.yaml");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().where->field, "cpus");
  ASSERT_EQ(read.error().causes.size(), 1U);
  EXPECT_EQ(read.error().causes[0].where->field, "nics[0].gbits");
}

TEST(PlatformFile, HoldsOneDocument) {
  EXPECT_FALSE(Catalogue::parse_platform("", "empty.yaml"));
  EXPECT_FALSE(Catalogue::parse_platform(kGood + "---\n" + kGood, "two.yaml"));
  const auto list = Catalogue::parse_platform("[1, 2]", "list.yaml");
  ASSERT_FALSE(list);
  EXPECT_THAT(list.error().message, HasSubstr("no platform file"));
}

TEST(PlatformFile, PassesOnYamlErrorsWithTheirPlace) {
  const auto read = Catalogue::parse_platform("name: [", "broken.yaml");
  ASSERT_FALSE(read);
  ASSERT_TRUE(read.error().where);
  EXPECT_EQ(read.error().where->file, "broken.yaml");
}

TEST(PlatformFile, SixteenGpusAreRoomSeventeenAreNot) {
  const auto with_gpus = [](int count) {
    const auto from = kGood.find("gpus:\n- ");
    const auto to = kGood.find("nvlinks:\n");
    std::string gpus = "gpus:\n";
    for (int i = 0; i < count; ++i) {
      gpus += fmt::format("- {{index: {}, numa: 0, root_complex: 0, pcie_switch: 0, pci_bus_id: "
                          "\"00000000:{:02x}:00.0\"}}\n",
                          i, i + 1);
    }
    return kGood.substr(0, from) + gpus + kGood.substr(to);
  };
  EXPECT_TRUE(Catalogue::parse_platform(with_gpus(16), "16.yaml"));
  const auto read = Catalogue::parse_platform(with_gpus(17), "17.yaml");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().where->field, "gpus");
  EXPECT_THAT(read.error().message, HasSubstr("1 to 16 GPUs: 17"));
}

TEST(PlatformFile, AnyPrefixOrFlippedByteIsReadOrRefused) {
  for (std::size_t length = 0; length < kGood.size(); length += 7) {
    (void)Catalogue::parse_platform(kGood.substr(0, length), "prefix.yaml");
  }
  for (std::size_t at = 0; at < kGood.size(); at += 5) {
    auto text = kGood;
    text[at] = static_cast<char>(text[at] ^ 0x11);
    (void)Catalogue::parse_platform(text, "flipped.yaml");
  }
}

TEST(FieldPath, WritesIndicesInBrackets) {
  EXPECT_EQ(field_path(""), "");
  EXPECT_EQ(field_path("/cpus"), "cpus");
  EXPECT_EQ(field_path("/gpus/3/numa"), "gpus[3].numa");
  EXPECT_EQ(field_path("/gpu_model/compute/1"), "gpu_model.compute[1]");
}

TEST(CpuList, CountsRanges) {
  EXPECT_EQ(count_cpus("0"), 1);
  EXPECT_EQ(count_cpus("0-55,112-167"), 112);
  EXPECT_EQ(count_cpus("0,2,4-5"), 4);
  for (const auto* bad :
       {"", "a", "-1", "3-2", "0-", "0,", ",0", "0-1,1-2", "5,3", "0-1-2", "0 1", "99999999999"}) {
    EXPECT_EQ(count_cpus(bad), -1) << bad;
  }
}

TEST(FinishPlatform, RefusesWhatNoFileCouldState) {
  Platform p = *Catalogue::parse_platform(kGood, "tiny.yaml");
  p.nvlinks[0][1] = 3;
  const auto finished = finish_platform(p);
  ASSERT_FALSE(finished);
  EXPECT_THAT(finished.error().message, HasSubstr("symmetric"));
  p.nvlinks.pop_back();
  EXPECT_FALSE(finish_platform(p));
}

TEST(EmbeddedPlatforms, AreSortedAndWhole) {
  std::string before;
  for (const auto& file : embedded_platforms()) {
    EXPECT_LT(before, file.name);
    before = file.name;
    EXPECT_TRUE(file.text().ends_with('\n')) << file.name;
  }
  EXPECT_EQ(embedded_platforms().size(), 9U);
}

} // namespace
} // namespace berth::hardware
