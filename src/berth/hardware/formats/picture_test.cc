#include "berth/hardware/formats/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::hardware {
namespace {

using ::testing::HasSubstr;

std::string drawn(std::string_view name) {
  return picture(*Catalogue::builtin().find(name));
}

TEST(Picture, ShowsTheTreeOfOneMachine) {
  EXPECT_EQ(drawn("t4-pcie-1"), "t4-pcie-1  1x T4 (g4dn.4xlarge)  1 x Tesla-T4\n"
                                "└─ socket 0  Intel Xeon Platinum 8259CL\n"
                                "   └─ NUMA node 0  CPUs 0-15\n"
                                "      └─ host bridge 0\n"
                                "         ├─ GPU0  00000000:00:1e.0\n"
                                "         └─ ens5  0000:00:05.0  20 Gb/s ethernet, rail 0\n");
}

TEST(Picture, HasEveryDeviceOnce) {
  for (const std::string& name : Catalogue::builtin().names()) {
    const Platform& p = *Catalogue::builtin().find(name);
    const std::string text = drawn(name);
    const auto times = [&](const std::string& word) {
      int found = 0;
      for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
        ++found;
      }
      return found;
    };
    for (const Gpu& gpu : p.gpus) {
      EXPECT_EQ(times("─ GPU" + std::to_string(gpu.index) + "  "), 1) << name;
    }
    for (const Nic& nic : p.nics) {
      EXPECT_EQ(times("─ " + nic.name + "  "), 1) << name;
    }
  }
}

TEST(Picture, SaysHowGpusAreLinked) {
  EXPECT_THAT(drawn("hgx-a100-4"), HasSubstr("NVLink  GPU0 to GPU1 x4, GPU2 x4, GPU3 x4\n"));
  EXPECT_THAT(drawn("gb200-nvl72"),
              HasSubstr("every GPU to every other through NVSwitch: 18 links of 40100 MB/s, one "
                        "domain of 72 GPUs"));
}

} // namespace
} // namespace berth::hardware
