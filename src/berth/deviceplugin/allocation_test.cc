#include "berth/deviceplugin/allocation.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::deviceplugin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class Allocation : public ::testing::Test {
 protected:
  Result<ContainerAllocateResponse> give(const std::vector<std::string>& ids) const {
    return allocate_container({.resource = resource_,
                               .ids = ids,
                               .config = config_,
                               .nodes = nodes_,
                               .response_id = "11111111-2222"});
  }
  ContainerAllocateResponse given(const std::vector<std::string>& ids) const {
    const auto response = give(ids);
    EXPECT_TRUE(response) << to_string(response.error());
    return response.value_or(ContainerAllocateResponse());
  }
  static PluginDevice gpu(int index) {
    return {.id = fmt::format("GPU-{}", index),
            .uuid = fmt::format("GPU-{}", index),
            .index = fmt::to_string(index),
            .gpu = index,
            .minor = index};
  }
  std::vector<std::string> paths(const ContainerAllocateResponse& response) const {
    std::vector<std::string> out;
    for (const DeviceSpec& device : response.devices) {
      out.push_back(device.host_path);
    }
    return out;
  }
  DeviceListStrategies& strategies() { return config_.flags.plugin.device_list_strategies; }

  PlannedResource resource_{.name = "nvidia.com/gpu", .devices = {gpu(0), gpu(1), gpu(2)}};
  Config config_;
  DriverNodes nodes_;
};

TEST_F(Allocation, ByDefaultIsTheVariableAlone) {
  const ContainerAllocateResponse response = given({"GPU-2", "GPU-0"});
  EXPECT_EQ(response,
            (ContainerAllocateResponse{.envs = {{"NVIDIA_VISIBLE_DEVICES", "GPU-2,GPU-0"}}}));
}

TEST_F(Allocation, VolumeMountsNameEachDevice) {
  strategies() = {.envvar = false, .volume_mounts = true};
  const ContainerAllocateResponse response = given({"GPU-1"});
  EXPECT_THAT(response.envs,
              ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", "/var/run/nvidia-container-devices")));
  EXPECT_THAT(response.mounts,
              ElementsAre(Mount{.container_path = "/var/run/nvidia-container-devices/GPU-1",
                                .host_path = "/dev/null"}));
}

TEST_F(Allocation, CdiNamesAreOfThePluginsOwnKind) {
  strategies() = {.envvar = false, .cdi_cri = true};
  const ContainerAllocateResponse response = given({"GPU-1"});
  EXPECT_THAT(response.cdi_devices, ElementsAre("k8s.device-plugin.nvidia.com/gpu=GPU-1"));
  EXPECT_THAT(response.envs, IsEmpty());
  EXPECT_THAT(response.annotations, IsEmpty());
}

TEST_F(Allocation, AnnotationsCarryTheSameNames) {
  strategies() = {.envvar = false, .cdi_annotations = true};
  config_.flags.plugin.cdi_annotation_prefix = "my.io/";
  EXPECT_THAT(given({"GPU-1", "GPU-2"}).annotations,
              ElementsAre(Pair("my.io/nvidia-device-plugin_11111111-2222",
                               "k8s.device-plugin.nvidia.com/gpu=GPU-1,"
                               "k8s.device-plugin.nvidia.com/gpu=GPU-2")));
  EXPECT_THAT(given({"GPU-1"}).cdi_devices, IsEmpty());
}

TEST_F(Allocation, EveryStrategyAtOnce) {
  strategies() = {.envvar = true, .volume_mounts = true, .cdi_annotations = true, .cdi_cri = true};
  const ContainerAllocateResponse response = given({"GPU-0"});
  EXPECT_EQ(response.envs.at("NVIDIA_VISIBLE_DEVICES"), "/var/run/nvidia-container-devices")
      << "mounts say more than the variable";
  EXPECT_EQ(response.mounts.size(), 1U);
  EXPECT_EQ(response.annotations.size(), 1U);
  EXPECT_EQ(response.cdi_devices.size(), 1U);
}

TEST_F(Allocation, AnIndexNamesTheDeviceIfSoConfigured) {
  config_.flags.plugin.device_id_strategy = DeviceIdStrategy::Index;
  strategies().cdi_cri = true;
  const ContainerAllocateResponse response = given({"GPU-2"});
  EXPECT_EQ(response.envs.at("NVIDIA_VISIBLE_DEVICES"), "2");
  EXPECT_THAT(response.cdi_devices, ElementsAre("k8s.device-plugin.nvidia.com/gpu=2"));
}

TEST_F(Allocation, DeviceNodesAreBelowTheDeviceRoot) {
  config_.flags.plugin.pass_device_specs = true;
  config_.flags.nvidia_dev_root = "/run/nvidia/driver";
  nodes_.control = {"/dev/nvidiactl"};
  const ContainerAllocateResponse response = given({"GPU-1"});
  EXPECT_THAT(response.devices,
              ElementsAre(DeviceSpec{"/dev/nvidiactl", "/run/nvidia/driver/dev/nvidiactl", "rw"},
                          DeviceSpec{"/dev/nvidia1", "/run/nvidia/driver/dev/nvidia1", "rw"}));
}

TEST_F(Allocation, AMigDeviceHasItsCapabilityFiles) {
  config_.flags.plugin.pass_device_specs = true;
  nodes_.control = {};
  nodes_.mig = cdi::MigMinors::usual(2);
  PluginDevice mig = gpu(1);
  mig.id = mig.uuid = "MIG-a";
  mig.mig = MigInstance{.gpu_instance = 2, .compute_instance = 0};
  PluginDevice neighbour = mig;
  neighbour.id = neighbour.uuid = "MIG-b";
  neighbour.mig = MigInstance{.gpu_instance = 3, .compute_instance = 0};
  resource_.devices = {mig, neighbour};
  EXPECT_THAT(paths(given({"MIG-a", "MIG-b"})),
              ElementsAre("/dev/nvidia1", "/dev/nvidia-caps/nvidia-cap156",
                          "/dev/nvidia-caps/nvidia-cap157", "/dev/nvidia-caps/nvidia-cap165",
                          "/dev/nvidia-caps/nvidia-cap166"));
  nodes_.mig = {};
  const auto missing = give({"MIG-a"});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("no capability files of MIG device MIG-a"));
}

TEST_F(Allocation, CompanionsComeWithTheirVariablesAndSpecs) {
  config_.flags.gds_enabled = true;
  config_.flags.mofed_enabled = true;
  config_.flags.gdrcopy_enabled = true;
  nodes_.imex_channels = {0};
  strategies() = {.envvar = true, .cdi_cri = true};
  const ContainerAllocateResponse response = given({"GPU-0"});
  EXPECT_THAT(response.envs,
              ElementsAre(Pair("NVIDIA_GDRCOPY", "enabled"), Pair("NVIDIA_GDS", "enabled"),
                          Pair("NVIDIA_IMEX_CHANNELS", "0"), Pair("NVIDIA_MOFED", "enabled"),
                          Pair("NVIDIA_VISIBLE_DEVICES", "GPU-0")));
  EXPECT_THAT(response.cdi_devices, ElementsAre("k8s.device-plugin.nvidia.com/gpu=GPU-0",
                                                "k8s.device-plugin.nvidia.com/gdrcopy=all",
                                                "k8s.device-plugin.nvidia.com/gds=all",
                                                "k8s.device-plugin.nvidia.com/mofed=all",
                                                "k8s.device-plugin.nvidia.com/imex-channel=0"));
}

TEST_F(Allocation, SeveralReplicasOfAGpuAreThatGpuOnce) {
  for (int i = 0; i < 2; ++i) {
    PluginDevice replica = gpu(0);
    replica.id = fmt::format("GPU-0::{}", i);
    replica.replica = true;
    resource_.devices.push_back(replica);
  }
  config_.sharing.time_slicing.emplace();
  EXPECT_EQ(given({"GPU-0::1", "GPU-0::0"}).envs.at("NVIDIA_VISIBLE_DEVICES"), "GPU-0");
  config_.sharing.time_slicing->fail_requests_greater_than_one = true;
  EXPECT_EQ(give({"GPU-0::1", "GPU-0::0"}).error().message,
            "invalid allocation request for \"nvidia.com/gpu\": invalid request: maximum request "
            "size for shared resources is 1; found 2");
  EXPECT_TRUE(give({"GPU-0::1"}));
  EXPECT_TRUE(give({"GPU-1", "GPU-2"})) << "these are not shared";
}

TEST_F(Allocation, AStrangerIsNamed) {
  EXPECT_EQ(give({"GPU-9"}).error().message,
            "invalid allocation request for \"nvidia.com/gpu\": invalid request: unknown device: "
            "GPU-9");
}

} // namespace
} // namespace berth::deviceplugin
