#include "berth/deviceplugin/node_specs.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/inventory/simulated_mig.h"

namespace berth::deviceplugin {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Specs : public ::testing::Test {
 protected:
  Specs() {
    facts_ = inventory::simulated_facts(*hardware::Catalogue::builtin().find("hgx-a100-4"), "n1");
    config_.flags.plugin.device_list_strategies = {.envvar = false, .cdi_cri = true};
    nodes_.mig = cdi::MigMinors::usual(4);
  }
  void cut(std::size_t gpu, std::string_view wishes) {
    facts_.gpus[gpu].mig_enabled = true;
    const auto devices = inventory::cut_gpu(facts_.gpus[gpu], wishes, 1);
    ASSERT_TRUE(devices) << to_string(devices.error());
    facts_.gpus[gpu].mig = *devices;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const NodeSpec& each : node_specs(facts_, config_, nodes_).specs) {
      EXPECT_TRUE(cdi::validate(each.spec)) << to_string(cdi::validate(each.spec).error());
      for (const cdi::Device& device : each.spec.devices) {
        out.push_back(cdi::qualified_name(each.spec.kind, device.name));
      }
    }
    return out;
  }

  inventory::NodeFacts facts_;
  Config config_;
  DriverNodes nodes_;
};

TEST_F(Specs, NameEveryDeviceAsAllocateDoes) {
  cut(1, "3g.40gb=2");
  EXPECT_THAT(names(),
              ElementsAre(HasSubstr("gpu=GPU-"), HasSubstr("gpu=GPU-"), HasSubstr("gpu=MIG-"),
                          HasSubstr("gpu=MIG-"), HasSubstr("gpu=GPU-"), HasSubstr("gpu=GPU-")));
  config_.flags.plugin.device_id_strategy = DeviceIdStrategy::Index;
  const std::string kind = "k8s.device-plugin.nvidia.com/gpu=";
  EXPECT_THAT(names(), ElementsAre(kind + "0", kind + "1", kind + "1:0", kind + "1:1", kind + "2",
                                   kind + "3"));
}

TEST_F(Specs, KeepTheLegacyHookOutUnlessItIsWhatLists) {
  const auto environment = [&] {
    return node_specs(facts_, config_, nodes_).specs.front().spec.edits.env;
  };
  EXPECT_THAT(environment(), Contains("NVIDIA_VISIBLE_DEVICES=void"));
  config_.flags.plugin.device_list_strategies.envvar = true;
  EXPECT_THAT(environment(), Not(Contains(HasSubstr("NVIDIA_VISIBLE_DEVICES"))));
}

TEST_F(Specs, LeaveOutMigDevicesThatCannotBeOpened) {
  cut(0, "3g.40gb=2");
  nodes_.mig = cdi::MigMinors::parse("gpu0/gi1/access 12\ngpu0/gi1/ci0/access 13\n");
  const NodeSpecs specs = node_specs(facts_, config_, nodes_);
  EXPECT_THAT(specs.without_capabilities, ElementsAre(facts_.gpus[0].mig[1].uuid));
  EXPECT_THAT(names(), Contains(HasSubstr(facts_.gpus[0].mig[0].uuid)));
  EXPECT_THAT(names(), Not(Contains(HasSubstr(facts_.gpus[0].mig[1].uuid))));
}

TEST_F(Specs, OfWhatGoesBesideGpusAreFilesOfTheirOwn) {
  config_.flags.gds_enabled = true;
  config_.flags.mofed_enabled = true;
  config_.flags.gdrcopy_enabled = true;
  nodes_.imex_channels = {0};
  nodes_.mofed = {};
  const NodeSpecs specs = node_specs(facts_, config_, nodes_);
  std::vector<std::string> files;
  for (const NodeSpec& each : specs.specs) {
    files.push_back(each.file);
  }
  EXPECT_THAT(files, ElementsAre("k8s.device-plugin.nvidia.com-gpu.json",
                                 "k8s.device-plugin.nvidia.com-gdrcopy.json",
                                 "k8s.device-plugin.nvidia.com-gds.json",
                                 "k8s.device-plugin.nvidia.com-imex-channel.json"));
  EXPECT_THAT(names(), Contains("k8s.device-plugin.nvidia.com/gds=all"));
  EXPECT_THAT(names(), Contains("k8s.device-plugin.nvidia.com/imex-channel=0"));
  EXPECT_THAT(specs.problems,
              ElementsAre("mofed is enabled, and this node has no device files of it"));
}

TEST_F(Specs, OfANodeWithoutGpusAreNone) {
  facts_.gpus.clear();
  EXPECT_THAT(node_specs(facts_, config_, nodes_).specs, IsEmpty());
}

} // namespace
} // namespace berth::deviceplugin
