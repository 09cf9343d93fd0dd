// The catalogue against dumps of real machines, where those are at hand (BERTH_SHARED or
// ../shared).
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

#include "berth/hardware/platform.h"
#include "berth/testing/shared_file.h"

namespace berth::hardware {
namespace {

const Platform& builtin(std::string_view name) {
  return *Catalogue::builtin().find(name);
}

struct Dump {
  std::string name;
  std::string file;
  std::string product; ///< expression with the name in its first group
  std::string memory;  ///< likewise, MiB
  std::string platform;
};

void PrintTo(const Dump& value, std::ostream* out) {
  *out << value.name;
}

class RealDumps : public ::testing::TestWithParam<Dump> {};

TEST_P(RealDumps, AgreeInProductAndMemory) {
  const auto& c = GetParam();
  const auto text = berth::testing::shared_file("inputs/nvidia-smi/" + c.file);
  if (text.empty()) {
    GTEST_SKIP() << "no dump: " << c.file;
  }
  std::smatch found;
  ASSERT_TRUE(std::regex_search(text, found, std::regex(c.product)));
  std::string product = found[1];
  std::ranges::replace(product, ' ', '-');
  EXPECT_EQ(builtin(c.platform).gpu_model.product, product);
  ASSERT_TRUE(std::regex_search(text, found, std::regex(c.memory)));
  EXPECT_EQ(std::to_string(builtin(c.platform).gpu_model.memory_mib), found[1]);
}

const std::string kText = "Product Name +: (.*)\n";
const std::string kTextMemory = "FB Memory Usage\n +Total +: ([0-9]+) MiB";
const std::string kXml = "<product_name>(.*)</product_name>";
const std::string kXmlMemory = "<fb_memory_usage>\\s*<total>([0-9]+) MiB";

INSTANTIATE_TEST_SUITE_P(
    All, RealDumps,
    ::testing::Values(
        Dump{"H100", "capture-nvidia-h100-80gb-hbm3__590.48.01.txt", kText, kTextMemory,
             "dgx-h100"},
        Dump{"H200", "capture-nvidia-h200__590.48.01.txt", kText, kTextMemory, "dgx-h200"},
        Dump{"L40S", "capture-nvidia-l40s__595.80.txt", kText, kTextMemory, "l40s-pcie-8"},
        Dump{"A10G", "a10g.xml", kXml, kXmlMemory, "a10g-pcie-4"},
        Dump{"T4", "tesla-t4.xml", kXml, kXmlMemory, "t4-pcie-1"}),
    [](const auto& tested) { return tested.param.name; });

TEST(FeatureDiscovery, EveryLabelItPromisesIsSet) {
  const auto text = berth::testing::shared_file("inputs/gfd/expected-mig-none.txt");
  if (text.empty()) {
    GTEST_SKIP() << "no list of expected labels";
  }
  for (const auto& name : Catalogue::builtin().names()) {
    std::vector<std::string> lines;
    for (const auto& [key, value] : node_labels(builtin(name))) {
      lines.push_back(key + "=" + value);
    }
    std::istringstream expressions(text);
    for (std::string line; std::getline(expressions, line);) {
      if (line.empty() || line.find("timestamp") != std::string::npos) {
        continue; // a moment in time is not the platform's
      }
      // The list checks names; its value classes leave out digits that real products have.
      const auto prefix = std::regex(line.substr(0, line.find('=') + 1));
      EXPECT_TRUE(std::ranges::any_of(lines,
                                      [&](const auto& l) {
                                        return std::regex_search(
                                            l, prefix, std::regex_constants::match_continuous);
                                      }))
          << name << " lacks " << line;
    }
  }
}

TEST(DgxA100, HangsTogetherLikeItsCloudSister) {
  // The p4d instance is the same board with half the NICs: two GPUs a switch, two switches a
  // socket.
  const auto text = berth::testing::shared_file("inputs/topology/nccl-p4d-24xl-topo.xml");
  if (text.empty()) {
    GTEST_SKIP() << "no topology file";
  }
  const auto& p = builtin("dgx-a100");
  std::vector<std::pair<int, int>> switch_and_socket; // by GPU
  int pcie_switch = -1;
  int socket = -1;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    socket += line.find("<cpu ") != std::string::npos ? 1 : 0;
    pcie_switch += line.find("class=\"0x060400\"") != std::string::npos ? 1 : 0;
    if (line.find("class=\"0x030200\"") != std::string::npos) {
      switch_and_socket.emplace_back(pcie_switch, socket);
    }
  }
  ASSERT_EQ(switch_and_socket.size(), p.gpus.size());
  for (const auto& a : p.gpus) {
    for (const auto& b : p.gpus) {
      const auto& [switch_a, socket_a] = switch_and_socket[a.index];
      const auto& [switch_b, socket_b] = switch_and_socket[b.index];
      EXPECT_EQ(p.top_switch(a.pcie_switch) == p.top_switch(b.pcie_switch), switch_a == switch_b);
      EXPECT_EQ(p.socket_of(a.numa) == p.socket_of(b.numa), socket_a == socket_b);
    }
  }
}

} // namespace
} // namespace berth::hardware
