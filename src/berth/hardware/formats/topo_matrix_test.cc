#include "berth/hardware/formats/topo_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/hardware/formats/import.h"
#include "berth/hardware/formats/platform_yaml.h"
#include "berth/hardware/platform.h"
#include "berth/testing/shared_file.h"

namespace berth::hardware {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Platform& builtin(std::string_view name) {
  return *Catalogue::builtin().find(name);
}

class MatrixOfPlatform : public ::testing::TestWithParam<std::string> {};

TEST_P(MatrixOfPlatform, IsReadBackFromItsMatrix) {
  const TopoMatrix matrix = topo_matrix(builtin(GetParam()));
  for (const auto style : {TopoStyle::Plain, TopoStyle::Underlined}) {
    const auto read = parse_topo_matrix(to_text(matrix, style), "topo.txt");
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(*read, matrix);
  }
}

TEST_P(MatrixOfPlatform, IsImportedToOneWithTheSameMatrix) {
  const Platform& p = builtin(GetParam());
  const auto made = import_topo_matrix(topo_matrix(p), {.name = "copy", .like = &p});
  ASSERT_TRUE(made) << to_string(made.error());
  EXPECT_EQ(to_text(topo_matrix(made->platform), TopoStyle::Plain),
            to_text(topo_matrix(p), TopoStyle::Plain));
  EXPECT_EQ(made->platform.nvswitch, p.nvswitch);
  EXPECT_EQ(made->platform.sockets, p.sockets);
  EXPECT_EQ(made->platform.cpus, p.cpus);
  for (std::size_t i = 0; i < p.nics.size(); ++i) {
    EXPECT_EQ(made->platform.nics[i].rail, p.nics[i].rail) << p.nics[i].name;
  }
  const auto again = Catalogue::parse_platform(platform_yaml(made->platform), "copy.yaml");
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(platform_yaml(*again), platform_yaml(made->platform));
}

INSTANTIATE_TEST_SUITE_P(Catalogue, MatrixOfPlatform,
                         ::testing::ValuesIn(Catalogue::builtin().names()), [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(TopoMatrix, IsWrittenAsTheToolWritesIt) {
  EXPECT_EQ(
      to_text(topo_matrix(builtin("t4-pcie-1")), TopoStyle::Underlined),
      "\t\033[4mGPU0\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\033[0m\n"
      "GPU0\t X \tPHB\t0-15\t0\t\tN/A\n"
      "NIC0\tPHB\t X \t\t\t\t\n"
      "\n"
      "Legend:\n"
      "\n"
      "  X    = Self\n"
      "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes "
      "(e.g., QPI/UPI)\n"
      "  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host "
      "Bridges within a NUMA node\n"
      "  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)\n"
      "  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host "
      "Bridge)\n"
      "  PIX  = Connection traversing at most a single PCIe bridge\n"
      "  NV#  = Connection traversing a bonded set of # NVLinks\n"
      "\n"
      "NIC Legend:\n"
      "\n"
      "  NIC0: ens5\n"
      "\n");
}

TEST(TopoMatrix, ARealCaptureIsReadAndWrittenBackByteForByte) {
  const std::string capture =
      berth::testing::shared_file("inputs/nvidia-smi/capture-nvidia-h100-80gb-hbm3__590.48.01.txt");
  if (capture.empty()) {
    GTEST_SKIP() << "no capture";
  }
  const auto read = parse_topo_matrix(capture, "capture.txt");
  ASSERT_TRUE(read) << to_string(read.error());
  const auto start = capture.find("\t\033[4mGPU0");
  const std::string text = to_text(*read, TopoStyle::Underlined);
  EXPECT_EQ(capture.substr(start, text.size()), text);
}

struct RealDump {
  std::string file;
  std::size_t gpus;
  std::size_t nics;
  std::string a_path; ///< of the last two devices
};

void PrintTo(const RealDump& dump, std::ostream* out) {
  *out << dump.file;
}

class RealMatrices : public ::testing::TestWithParam<RealDump> {};

TEST_P(RealMatrices, AreReadAndImported) {
  const RealDump& dump = GetParam();
  const std::string text = berth::testing::shared_file("inputs/topology/" + dump.file);
  if (text.empty()) {
    GTEST_SKIP() << "no dump: " << dump.file;
  }
  const auto read = parse_topo_matrix(text, dump.file);
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->gpus(), dump.gpus);
  ASSERT_EQ(read->devices.size(), dump.gpus + dump.nics);
  EXPECT_EQ(to_string(read->cells[read->devices.size() - 2].back()), dump.a_path);
  const auto made = import_topo_matrix(*read, {.name = "mine"});
  ASSERT_TRUE(made) << to_string(made.error());
  EXPECT_EQ(topo_matrix(made->platform).cells, read->cells);
  const auto again = Catalogue::parse_platform(platform_yaml(made->platform), "mine.yaml");
  EXPECT_TRUE(again) << to_string(again.error());
}

INSTANTIATE_TEST_SUITE_P(
    All, RealMatrices,
    ::testing::Values(RealDump{"topo-m-4gpu-nvlink-pairs-4nic.txt", 4, 4, "PIX"},
                      RealDump{"topo-m-4gpu-nvlink12-2nic.txt", 4, 2, "SYS"},
                      RealDump{"topo-m-4gpu-t4-nodepair.txt", 4, 0, "NODE"},
                      RealDump{"topo-m-4gpu-v100-mixed-nvlink.txt", 4, 1, "SYS"},
                      RealDump{"topo-m-8gpu-pcie-2socket.txt", 8, 0, "PHB"}));

// The forms that people paste, made up here after the shapes seen in public reports.
const std::string kSpaced =
    "$ nvidia-smi topo -m\r\n"
    "        GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity   GPU NUMA ID\r\n"
    "GPU0     X      NV18    PXB     0-7     0,2-3           1\r\n"
    "GPU1    NV18     X      PXB     0-7     0,2-3           N/A\r\n"
    "NIC0    PXB     PXB      X\r\n"
    "\r\n"
    "NIC Legend:\r\n"
    "\r\n"
    "  NIC0: rdma0\r\n";

TEST(TopoMatrix, BlanksAreAsGoodAsTabs) {
  const auto read = parse_topo_matrix(kSpaced, "pasted.txt");
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->devices[0], (TopoDevice{TopoDevice::Kind::Gpu, "GPU0", "0-7", "0,2-3", 1}));
  EXPECT_EQ(read->devices[1].memory_numa, std::nullopt);
  EXPECT_EQ(read->devices[2], (TopoDevice{TopoDevice::Kind::Nic, "rdma0", "", "", std::nullopt}));
  EXPECT_EQ(read->cells[0][1], (TopoCell{Link::NVLink, 18}));
  EXPECT_EQ(read->cells[2][0], (TopoCell{Link::PXB, 0}));
}

TEST(TopoMatrix, ColumnsMayComeInAnyOrder) {
  const auto read = parse_topo_matrix("\tCPU Affinity\tmlx4_0\tGPU1\tGPU0\n"
                                      "GPU0\t0-3\tSOC\tNV2\t X \n"
                                      "mlx4_0\t\t X \tPHB\tSOC\n"
                                      "GPU1\t4-7\tPHB\t X \tNV2\n",
                                      "old.txt");
  ASSERT_TRUE(read) << to_string(read.error());
  ASSERT_EQ(read->devices.size(), 3U);
  EXPECT_EQ(read->devices[1].cpus, "4-7");
  EXPECT_EQ(read->devices[2].name, "mlx4_0");
  EXPECT_EQ(read->cells[0][2].kind, Link::SYS) << "SOC of older drivers";
  EXPECT_EQ(read->cells[1][2].kind, Link::PHB);
}

TEST(TopoMatrix, AByteOrderMarkIsNoPartOfIt) {
  const auto read = parse_topo_matrix("\xEF\xBB\xBFGPU0\nGPU0\t X \n", "windows.txt");
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->gpus(), 1U);
}

TEST(TopoMatrix, OfTwoTheFirstCounts) {
  const std::string matrix = "\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n";
  for (const std::string between : {"", "\n", "$ nvidia-smi topo -m\n"}) {
    const auto read = parse_topo_matrix(matrix + between +
                                            "GPU0\tGPU1\nGPU0\t X \tSYS\n"
                                            "GPU1\tSYS\t X \n",
                                        "twice.txt");
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(read->cells[0][1].nvlinks, 4);
  }
}

struct BadText {
  std::string name;
  std::string text;
  int line;
  std::string message;
};

void PrintTo(const BadText& bad, std::ostream* out) {
  *out << bad.name;
}

class BadMatrices : public ::testing::TestWithParam<BadText> {};

TEST_P(BadMatrices, SayWhereAndWhy) {
  const BadText& bad = GetParam();
  const auto read = parse_topo_matrix(bad.text, "pasted.txt");
  ASSERT_FALSE(read);
  ASSERT_TRUE(read.error().where);
  EXPECT_EQ(read.error().where->file, "pasted.txt");
  EXPECT_EQ(read.error().where->line, bad.line);
  EXPECT_THAT(read.error().message, HasSubstr(bad.message));
}

std::string too_many_columns() {
  std::string header;
  for (int i = 0; i < 100; ++i) {
    header += "\tGPU" + std::to_string(i);
  }
  return header + "\nGPU0\t X \n";
}

INSTANTIATE_TEST_SUITE_P(
    All, BadMatrices,
    ::testing::Values(
        BadText{"Nothing", "", 0, "no matrix of nvidia-smi topo -m"},
        BadText{"OtherText", "hello\nworld\n", 0, "no matrix of nvidia-smi topo -m"},
        BadText{"HeaderAlone", "\tGPU0\tGPU1\n", 0, "no matrix"},
        BadText{"UnknownWord", "\tGPU0\tGPU1\nGPU0\t X \tNEAR\nGPU1\tSYS\t X \n", 2,
                "GPU0, column GPU1: expected X, NV#, PIX, PXB, PHB, NODE or SYS: \"NEAR\""},
        BadText{"TooManyLinks", "\tGPU0\tGPU1\nGPU0\t X \tNV99\nGPU1\tNV99\t X \n", 2, "\"NV99\""},
        BadText{"ShortRow", "\tGPU0\tGPU1\nGPU0\t X \nGPU1\tSYS\t X \n", 2,
                "GPU0: the row ends before column GPU1"},
        BadText{"LongRow", "\tGPU0\nGPU0\t X \t0-3\n", 2,
                "GPU0: the row has more values than there are columns: \"0-3\""},
        BadText{"CpusPastTheLast", "\tGPU0\tCPU Affinity\nGPU0\t X \t0-15,32-9999999999\n", 2,
                "GPU0: the CPU affinity is no list such as 0-15,32-47: \"0-15,32-9999999999\""},
        BadText{"CpusBackwards", "\tGPU0\tCPU Affinity\nGPU0\t X \t47-15\n", 2, "\"47-15\""},
        BadText{"MissingRow", "\tGPU0\tGPU1\nGPU0\t X \tSYS\n", 1, "column without a row: GPU1"},
        BadText{"MissingGpu", "\tGPU0\tGPU2\nGPU0\t X \tSYS\nGPU2\tSYS\t X \n", 1,
                "GPU1 is missing"},
        BadText{"TwoHalves", "\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tPHB\t X \n", 2,
                "a path is the same both ways: GPU0 to GPU1 is SYS, back PHB"},
        BadText{"SelfElsewhere", "\tGPU0\tGPU1\nGPU0\t X \t X \nGPU1\t X \t X \n", 2,
                "X stands for a device and itself: GPU0, column GPU1: X"},
        BadText{"ColumnTwice", "\tGPU0\tGPU0\nGPU0\t X \t X \n", 1, "column given twice: GPU0"},
        BadText{"TooManyColumns", too_many_columns(), 1, "more columns than 16 GPUs"}),
    [](const auto& tested) { return tested.param.name; });

TEST(TopoMatrix, TextOfAnySizeIsRefusedBeforeItIsRead) {
  const auto read = parse_topo_matrix(std::string(kMaxTopoBytes + 1, ' '), "big.txt");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("at most 1048576 bytes, found 1048577"));
}

TEST(ImportTopoMatrix, SaysWhatItAssumes) {
  const auto read = parse_topo_matrix(kSpaced, "pasted.txt");
  ASSERT_TRUE(read);
  const auto made = import_topo_matrix(*read, {.name = "mine"});
  ASSERT_TRUE(made) << to_string(made.error());
  EXPECT_THAT(made->notes[0], HasSubstr("the matrix does not name the GPU: taken to be"));
  EXPECT_TRUE(made->platform.c2c);
  EXPECT_EQ(made->platform.gpus[0].memory_numa, 1);
}

// nvidia-smi -L beside the matrix says which GPU it is.
TEST(ImportTopoMatrix, TheGpuIsTheOneThatIsNamedBesideTheMatrix) {
  const auto imported = [](const std::string& name) {
    const auto read = parse_topo_matrix("GPU 0: " + name + " (UUID: GPU-0)\n" +
                                            "\tGPU0\tCPU Affinity\nGPU0\t X \t0-7\n",
                                        "capture.txt");
    EXPECT_TRUE(read) << to_string(read.error());
    auto made = import_topo_matrix(*read, {.name = "mine"});
    EXPECT_TRUE(made) << to_string(made.error());
    return *made;
  };
  const Imported of_catalogue = imported("NVIDIA L40S");
  EXPECT_EQ(of_catalogue.platform.gpu_model.product, "NVIDIA-L40S");
  EXPECT_THAT(of_catalogue.notes[0], HasSubstr("assumed as in l40s-pcie-8"));
  const Imported of_none = imported("NVIDIA H100 PCIe");
  EXPECT_EQ(of_none.platform.gpu_model.product, "NVIDIA-H100-PCIe");
  EXPECT_EQ(of_none.platform.gpu_model.pci_device, 0x2331);
  EXPECT_EQ(of_none.platform.gpu_model.compute_major, 9);
  EXPECT_THAT(imported("NVIDIA Z1").notes[0], HasSubstr("the GPU NVIDIA-Z1 is not known: taken"));
}

TEST(ImportTopoMatrix, AssumedCpusAreToldForEachNode) {
  const auto read = parse_topo_matrix("\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n"
                                      "GPU0\t X \tSYS\t0-3\t1\n"
                                      "GPU1\tSYS\t X \t4-7\t3\n",
                                      "nodes.txt");
  ASSERT_TRUE(read) << to_string(read.error());
  const auto made = import_topo_matrix(*read, {.name = "nodes", .like = &builtin("dgx-h100")});
  ASSERT_TRUE(made) << to_string(made.error());
  EXPECT_THAT(made->notes,
              ::testing::Contains("the CPUs of 2 NUMA nodes are not said: assumed 8-11 on node 0; "
                                  "12-15 on node 2"));
}

TEST(ImportTopoMatrix, PathsThatAreNoTreeAreNamed) {
  const auto read = parse_topo_matrix("\tGPU0\tGPU1\tGPU2\tNUMA Affinity\n"
                                      "GPU0\t X \tPIX\tSYS\t0\n"
                                      "GPU1\tPIX\t X \tPIX\t0\n"
                                      "GPU2\tSYS\tPIX\t X \t0\n",
                                      "odd.txt");
  ASSERT_TRUE(read) << to_string(read.error());
  const auto made = import_topo_matrix(*read, {.name = "odd", .like = &builtin("l40s-pcie-8")});
  ASSERT_TRUE(made) << to_string(made.error());
  EXPECT_THAT(made->notes, ::testing::Contains(HasSubstr("GPU0 to GPU2 PIX for SYS")));
}

TEST(ImportTopoMatrix, ABoardWithoutSwitchKeepsItsPairs) {
  const auto read = parse_topo_matrix("\tGPU0\tGPU1\tGPU2\n"
                                      "GPU0\t X \tNV4\tNV2\n"
                                      "GPU1\tNV4\t X \tSYS\n"
                                      "GPU2\tNV2\tSYS\t X \n",
                                      "pairs.txt");
  ASSERT_TRUE(read);
  const auto made = import_topo_matrix(*read, {.name = "pairs", .like = &builtin("l40s-pcie-8")});
  ASSERT_TRUE(made) << to_string(made.error());
  EXPECT_FALSE(made->platform.nvswitch);
  EXPECT_EQ(made->platform.gpu_model.nvlink_links, 6);
  EXPECT_GT(made->platform.gpu_model.nvlink_mbps_per_link, 0);
  EXPECT_EQ(made->platform.nvlinks[0][2], 2);
}

TEST(ImportTopoMatrix, NamesMustNameNodes) {
  TopoMatrix one{.devices = {{.name = "GPU0"}}, .cells = {{{}}}};
  for (const std::string& name :
       std::vector<std::string>{"", "Big", "-a", "a-", "a_b", std::string(51, 'a')}) {
    EXPECT_FALSE(import_topo_matrix(one, {.name = name})) << name;
  }
  EXPECT_TRUE(import_topo_matrix(one, {.name = "a.b-1"}));
  EXPECT_FALSE(import_topo_matrix({}, {.name = "a"})) << "no GPU";
}

} // namespace
} // namespace berth::hardware
