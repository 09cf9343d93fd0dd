#include "berth/hardware/formats/nccl_xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "berth/hardware/formats/import.h"
#include "berth/hardware/formats/platform_yaml.h"
#include "berth/hardware/formats/topo_matrix.h"
#include "berth/testing/shared_file.h"

namespace berth::hardware {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const Platform& builtin(std::string_view name) {
  return *Catalogue::builtin().find(name);
}

class XmlOfPlatform : public ::testing::TestWithParam<std::string> {};

TEST_P(XmlOfPlatform, IsReadBack) {
  const Platform& p = builtin(GetParam());
  const auto read = import_nccl_xml(nccl_xml(p), "topo.xml", {.name = "copy", .like = &p});
  ASSERT_TRUE(read) << to_string(read.error()) << '\n' << nccl_xml(p);
  const Platform& made = read->platform;
  TopoMatrix expected = topo_matrix(p);
  for (TopoDevice& device : expected.devices) {
    device.memory_numa.reset(); // not in the file
  }
  EXPECT_EQ(to_text(topo_matrix(made), TopoStyle::Plain), to_text(expected, TopoStyle::Plain));
  EXPECT_EQ(made.nvlinks, p.nvlinks);
  EXPECT_EQ(made.c2c, p.c2c);
  EXPECT_EQ(made.cpus, p.cpus);
  EXPECT_EQ(made.cpu_model.name, p.cpu_model.name);
  EXPECT_EQ(made.gpu_model.pcie_mbps, p.gpu_model.pcie_mbps);
  for (std::size_t i = 0; i < p.gpus.size(); ++i) {
    EXPECT_EQ(made.gpus[i].pci_bus_id, p.gpus[i].pci_bus_id);
  }
  for (std::size_t i = 0; i < p.nics.size(); ++i) {
    EXPECT_EQ(made.nics[i].gbits, p.nics[i].gbits) << p.nics[i].name;
    EXPECT_EQ(made.nics[i].rail, p.nics[i].rail) << p.nics[i].name;
    EXPECT_EQ(made.nics[i].model, p.nics[i].model) << p.nics[i].name;
    EXPECT_EQ(made.nics[i].layer, p.nics[i].layer) << p.nics[i].name;
  }
}

TEST_P(XmlOfPlatform, FindsItsPlatformByTheGpu) {
  const Platform& p = builtin(GetParam());
  const auto read = import_nccl_xml(nccl_xml(p), "topo.xml", {.name = "copy"});
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->platform.gpu_model.product, p.gpu_model.product);
}

INSTANTIATE_TEST_SUITE_P(Catalogue, XmlOfPlatform,
                         ::testing::ValuesIn(Catalogue::builtin().names()), [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(NcclXml, LooksAsNcclWritesIt) {
  const std::string xml = nccl_xml(builtin("t4-pcie-1"));
  EXPECT_THAT(
      xml,
      HasSubstr(
          R"(numaid="0" affinity="0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
    <pci busid="0000:00:1e.0" class="0x030200" vendor="0x10de" device="0x1eb8" link_speed="8.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="75" rank="0" gdr="1" />
    </pci>
    <pci busid="0000:00:05.0" class="0x020000" vendor="0x1d0f" device="0xec20" link_speed="8.0 GT/s PCIe" link_width="16">
      <nic>
        <net name="ens5" dev="0" speed="20000" port="1")"));
  EXPECT_THAT(nccl_xml(builtin("hgx-a100-4")),
              HasSubstr(R"(<nvlink target="0000:41:00.0" count="4" tclass="0x030200" />)"));
  EXPECT_THAT(nccl_xml(builtin("dgx-h100")),
              HasSubstr(R"(<nvlink target="fffffff:ffff:ff" count="18" tclass="0x068000" />)"));
}

const std::string kPair = R"(<system version="1">
  <cpu numaid="-1" affinity="ffff" arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="17">
    <pci busid="0000:01:00.0" class="0x030200" device="0x2204" link_speed="16.0 GT/s PCIe" link_width="8">
      <gpu dev="1" sm="86"><nvlink target="0000:02:00.0" count="4" tclass="0x030000"/></gpu>
    </pci>
    <pci busid="0000:02:00.0" class="0x030000">
      <gpu dev="0" sm="86"><nvlink target="0000:01:00.0" count="3" tclass="0x030000"/></gpu>
    </pci>
  </cpu>
</system>
)";

TEST(ImportNcclXml, ReadsACloudsFile) {
  const std::string text = berth::testing::shared_file("inputs/topology/nccl-p4d-24xl-topo.xml");
  if (text.empty()) {
    GTEST_SKIP() << "no topology file";
  }
  const auto read = import_nccl_xml(text, "p4d.xml", {.name = "p4d", .like = &builtin("dgx-a100")});
  ASSERT_TRUE(read) << to_string(read.error());
  const Platform& p = read->platform;
  ASSERT_EQ(p.gpus.size(), 8U);
  EXPECT_EQ(p.numa.size(), 2U);
  EXPECT_EQ(p.cpus, 96);
  EXPECT_EQ(p.numa[0].cpus, "0-23,48-71");
  EXPECT_EQ(p.pcie_link(0, 1), Link::PIX);
  EXPECT_EQ(p.pcie_link(0, 2), Link::NODE);
  EXPECT_EQ(p.pcie_link(0, 4), Link::SYS);
  EXPECT_TRUE(p.nvswitch) << "as in dgx-a100";
  ASSERT_EQ(p.nics.size(), 4U);
  EXPECT_EQ(p.nic_link(6, 3), Link::PIX);
  EXPECT_EQ(p.nics[3].rail, 3);
  EXPECT_EQ(p.nics[0].model, "EFA");
  EXPECT_EQ(p.gpu_model.pcie_mbps, 12'000);
  const auto again = Catalogue::parse_platform(platform_yaml(p), "p4d.yaml");
  EXPECT_TRUE(again) << to_string(again.error());
}

TEST(ImportNcclXml, AGpuThatNoPlatformHasIsNamedByItsPciDevice) {
  std::string text = kPair;
  for (auto at = text.find("0x2204"); at != std::string::npos; at = text.find("0x2204")) {
    text.replace(at, 6, "0x20b0");
  }
  const auto read = import_nccl_xml(text, "a100.xml", {.name = "a100"});
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->platform.gpu_model.product, "NVIDIA-A100-SXM4-40GB");
  EXPECT_EQ(read->platform.gpu_model.memory_mib, 40'960);
  EXPECT_EQ(read->platform.gpu_model.compute_major, 8);
  EXPECT_EQ(read->platform.gpu_model.pci_device, 0x20b0);
  EXPECT_THAT(read->notes, Not(Contains(HasSubstr("is not known"))));
}

TEST(ImportNcclXml, AFileThatNcclHasYetToCompleteIsRefused) {
  const std::string text = berth::testing::shared_file("inputs/topology/nccl-g5.48xl-topo.xml");
  if (text.empty()) {
    GTEST_SKIP() << "no topology file";
  }
  const auto read = import_nccl_xml(text, "g5.xml", {.name = "g5"});
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("9 of its pci elements have neither class nor gpu"));
}

TEST(ImportNcclXml, GpusAreNumberedByTheirDev) {
  const auto read = import_nccl_xml(kPair, "pair.xml", {.name = "pair"});
  ASSERT_TRUE(read) << to_string(read.error());
  const Platform& p = read->platform;
  EXPECT_EQ(p.gpus[0].pci_bus_id, "00000000:02:00.0");
  EXPECT_EQ(p.nvlinks[0][1], 3) << "the fewer of what the ends report";
  EXPECT_THAT(read->notes, Contains(HasSubstr("report 3 and 4 links")));
  EXPECT_EQ(p.cpu_model.name, "AuthenticAMD family 25 model 17");
  EXPECT_EQ(p.inter_socket_mbps, 16'000);
}

// What cannot be read counts as not said, and that is told.
TEST(ImportNcclXml, ANumberThatIsNoneIsANote) {
  const auto notes_with = [](const std::string& from, const std::string& to) {
    std::string text = kPair;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    const auto read =
        import_nccl_xml(text.replace(at, from.size(), to), "pair.xml", {.name = "pair"});
    EXPECT_TRUE(read) << to_string(read.error());
    return read ? read->notes : std::vector<std::string>();
  };
  EXPECT_THAT(notes_with("numaid=\"-1\"", "numaid=\"zero\""),
              Contains("line 2: numaid \"zero\" is no number: taken as not said"));
  const auto notes = notes_with("link_width=\"8\"", "link_width=\"99999999999999\"");
  EXPECT_THAT(notes, Contains("line 3: link_width \"99999999999999\" is no number: taken as not "
                              "said"));
  EXPECT_THAT(notes, Contains(HasSubstr("the GPU's PCIe link is not said, or none that is known")));
  EXPECT_THAT(notes_with("sm=\"86\"", "sm=\"86x\""), Contains(HasSubstr("sm \"86x\"")));
}

struct BadXml {
  std::string name;
  std::string from;
  std::string to;
  int line;
  std::string message;
};

void PrintTo(const BadXml& bad, std::ostream* out) {
  *out << bad.name;
}

class BadXmls : public ::testing::TestWithParam<BadXml> {};

TEST_P(BadXmls, SayWhereAndWhy) {
  const BadXml& bad = GetParam();
  std::string text = kPair;
  const auto at = text.find(bad.from);
  ASSERT_NE(at, std::string::npos);
  const auto read =
      import_nccl_xml(text.replace(at, bad.from.size(), bad.to), "pair.xml", {.name = "pair"});
  ASSERT_FALSE(read);
  ASSERT_TRUE(read.error().where) << to_string(read.error());
  EXPECT_EQ(read.error().where->line, bad.line) << to_string(read.error());
  EXPECT_THAT(read.error().message, HasSubstr(bad.message));
}

std::string nested(int depth) {
  std::string out;
  for (int i = 0; i < depth; ++i) {
    out += fmt::format("<pci busid=\"0000:{:02x}:01.0\">", i + 16);
  }
  for (int i = 0; i < depth; ++i) {
    out += "</pci>";
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(
    All, BadXmls,
    ::testing::Values(
        BadXml{"NotClosed", "</system>", "", 10, "not well-formed XML"},
        BadXml{"OtherRoot", "<system version=\"1\">", "<topology><system version=\"1\">", 10,
               "not well-formed XML"},
        BadXml{"Version", "version=\"1\"", "version=\"2\"", 1, "version 1 of NCCL's topology file"},
        BadXml{"BusId", "0000:02:00.0\" class", "2\" class", 6, "busid is not of the form"},
        BadXml{"BusTwice", "0000:02:00.0\" class", "0000:01:00.0\" class", 6,
               "busid given twice: 0000:01:00.0"},
        BadXml{"Count", "count=\"4\"", "count=\"many\"", 4,
               "count of an nvlink must be from 1 to 72: \"many\""},
        BadXml{"Numa", "numaid=\"-1\"", "numaid=\"100000\"", 2, "numaid must be from 0 to 255"},
        BadXml{"Deep", "  </cpu>", nested(40) + "  </cpu>", 9, "nested deeper than 16"}),
    [](const auto& tested) { return tested.param.name; });

TEST(ImportNcclXml, HostileTextEndsInAnError) {
  std::string deep;
  for (int i = 0; i < 300'000; ++i) {
    deep += "<a>";
  }
  EXPECT_FALSE(import_nccl_xml(deep, "deep.xml", {.name = "a"}));
  EXPECT_FALSE(import_nccl_xml(std::string(5 << 20, '<'), "big.xml", {.name = "a"}));
  EXPECT_FALSE(import_nccl_xml("<system version=\"1\"/>", "empty.xml", {.name = "a"}));
  EXPECT_FALSE(import_nccl_xml("<other/>", "other.xml", {.name = "a"}));
  const std::string bomb = "<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]>"
                           "<system version=\"1\"><cpu numaid=\"&b;\"/></system>";
  EXPECT_FALSE(import_nccl_xml(bomb, "bomb.xml", {.name = "a"}));
}

TEST(CpuMask, IsTheListReversed) {
  EXPECT_EQ(cpu_mask("0-55,112-167", 224),
            "00000000,000000ff,ffffffff,ffff0000,00000000,00ffffff,ffffffff");
  EXPECT_EQ(cpus_of_mask("00000000,000000ff,ffffffff,ffff0000,00000000,00ffffff,ffffffff"),
            "0-55,112-167");
  EXPECT_EQ(cpus_of_mask("1"), "0");
  EXPECT_EQ(cpus_of_mask("ffffffff"), "0-31");
  for (const std::string bad : {"", "0", "xyz", "123456789", "1,,2"}) {
    EXPECT_EQ(cpus_of_mask(bad), "") << bad;
  }
}

TEST(ImportMachine, TellsTheTwoFormatsApart) {
  EXPECT_TRUE(import_machine(kPair, "pair.xml", {.name = "pair"}));
  EXPECT_TRUE(import_machine(to_text(topo_matrix(builtin("dgx-h100")), TopoStyle::Plain),
                             "topo.txt", {.name = "h"}));
  EXPECT_FALSE(import_machine("hello", "hello.txt", {.name = "h"}));
}

} // namespace
} // namespace berth::hardware
