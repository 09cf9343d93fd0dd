#include "berth/server/gpu_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::server {
namespace {

using testing::HasSubstr;
using testing::Not;

GpuSamples machine() {
  return {.hostname = "n1",
          .driver = "580.95.05",
          .gpus = {{.index = 0,
                    .uuid = "GPU-a",
                    .pci_bus_id = "00000000:07:00.0",
                    .model = "NVIDIA H100 80GB HBM3",
                    .percent = 87,
                    .engine_active = 0.87,
                    .used_mib = 1000,
                    .free_mib = 80000}},
          .holders = {}};
}

constexpr const char* kGpu =
    R"({gpu="0",UUID="GPU-a",pci_bus_id="00000000:07:00.0",device="nvidia0",)"
    R"(modelName="NVIDIA H100 80GB HBM3",Hostname="n1",DCGM_FI_DRIVER_VERSION="580.95.05")";

TEST(GpuMetrics, AreTheExportersLines) {
  GpuSamples one = machine();
  one.holders = {{.device = "GPU-a", .ns = "default", .pod = "train", .container = "c"}};
  const std::string labels =
      std::string(kGpu) + R"(,container="c",namespace="default",pod="train"} )";
  EXPECT_EQ(
      gpu_metrics({one}),
      "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).\n"
      "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"
      "DCGM_FI_DEV_GPU_UTIL" +
          labels +
          "87\n"
          "# HELP DCGM_FI_DEV_FB_FREE Framebuffer memory free (in MiB).\n"
          "# TYPE DCGM_FI_DEV_FB_FREE gauge\n"
          "DCGM_FI_DEV_FB_FREE" +
          labels +
          "80000\n"
          "# HELP DCGM_FI_DEV_FB_USED Framebuffer memory used (in MiB).\n"
          "# TYPE DCGM_FI_DEV_FB_USED gauge\n"
          "DCGM_FI_DEV_FB_USED" +
          labels +
          "1000\n"
          "# HELP DCGM_FI_PROF_GR_ENGINE_ACTIVE Ratio of time the graphics engine is active.\n"
          "# TYPE DCGM_FI_PROF_GR_ENGINE_ACTIVE gauge\n"
          "DCGM_FI_PROF_GR_ENGINE_ACTIVE" +
          labels + "0.870000\n");
}

TEST(GpuMetrics, AnIdleGpuNamesNobody) {
  GpuSamples one = machine();
  EXPECT_THAT(gpu_metrics({one}), HasSubstr(std::string("DCGM_FI_DEV_GPU_UTIL") + kGpu + "} 87\n"));
  EXPECT_EQ(gpu_metrics({}), "");
}

struct HolderCase {
  const char* name;
  const char* device;
  bool named;
};

class Named : public testing::TestWithParam<HolderCase> {};

TEST_P(Named, ByWhatADevicePluginCallsIt) {
  GpuSamples one = machine();
  one.holders = {{.device = GetParam().device, .ns = "default", .pod = "train", .container = "c"}};
  EXPECT_EQ(gpu_metrics({one}).find("pod=\"train\"") != std::string::npos, GetParam().named);
}

INSTANTIATE_TEST_SUITE_P(All, Named,
                         testing::Values(HolderCase{"Uuid", "GPU-a", true},
                                         HolderCase{"Index", "0", true},
                                         HolderCase{"Replica", "GPU-a::3", true},
                                         HolderCase{"AnotherGpu", "GPU-b", false},
                                         HolderCase{"AnInstance", "0-1", false}),
                         [](const auto& one) { return one.param.name; });

TEST(GpuMetrics, OfSeveralThatShareTheFirstIsNamed) {
  GpuSamples one = machine();
  one.holders = {{.device = "GPU-a::1", .ns = "default", .pod = "b", .container = "c"},
                 {.device = "GPU-a::0", .ns = "default", .pod = "a", .container = "c"}};
  EXPECT_THAT(gpu_metrics({one}), HasSubstr("pod=\"a\""));
  EXPECT_THAT(gpu_metrics({one}), Not(HasSubstr("pod=\"b\"")));
}

TEST(GpuMetrics, ACutGpuHasItsInstancesSeriesAndNoUtilization) {
  GpuSamples one = machine();
  one.gpus[0].more.celsius = 40;
  one.gpus[0].instances = {{.uuid = "MIG-x",
                            .profile = "1g.10gb",
                            .gpu_instance = 7,
                            .engine_active = 0.5,
                            .used_mib = 10,
                            .free_mib = 9000},
                           {.uuid = "MIG-y", .profile = "2g.20gb", .gpu_instance = 3}};
  one.holders = {{.device = "MIG-x", .ns = "default", .pod = "small", .container = "c"},
                 {.device = "0-3", .ns = "default", .pod = "other", .container = "c"},
                 {.device = "GPU-a", .ns = "default", .pod = "wrong", .container = "c"}};
  const std::string text = gpu_metrics({one});
  EXPECT_THAT(text, Not(HasSubstr("DCGM_FI_DEV_GPU_UTIL")));
  EXPECT_THAT(text, Not(HasSubstr("wrong")));
  const std::string instance =
      R"({gpu="0",UUID="GPU-a",pci_bus_id="00000000:07:00.0",device="nvidia0",)"
      R"(modelName="NVIDIA H100 80GB HBM3",GPU_I_PROFILE="1g.10gb",GPU_I_ID="7",Hostname="n1",)"
      R"(DCGM_FI_DRIVER_VERSION="580.95.05",container="c",namespace="default",pod="small"} )";
  EXPECT_THAT(text, HasSubstr("DCGM_FI_PROF_GR_ENGINE_ACTIVE" + instance + "0.500000\n"));
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DEV_FB_USED" + instance + "10\n"));
  EXPECT_THAT(text, HasSubstr("DCGM_FI_DEV_GPU_TEMP" + instance + "40\n"));
  EXPECT_THAT(text, HasSubstr("pod=\"other\"} 40\n"));
}

TEST(GpuMetrics, WhatTheDriverTellsIsInTheExportersOrder) {
  GpuSamples one = machine();
  one.gpus[0].more = {.sm_clock_mhz = 1980,
                      .celsius = 41,
                      .milliwatts = 350'500,
                      .energy_mj = 12'345'678'901,
                      .pcie_replays = 0,
                      .pcie_sent = 5'000'000'000,
                      .ecc_double_volatile = 1,
                      .row_failure = 0,
                      .nvlink_replays = 3,
                      .nvlink_kib = 77,
                      .vgpu_license = 0,
                      .tensor_permille = 417,
                      .dram_permille = 0};
  one.gpus[0].more.memory_reserved_bytes = 600 << 20;
  const std::string text = gpu_metrics({one});
  std::size_t at = 0;
  for (const char* name :
       {"DCGM_FI_DEV_SM_CLOCK{", "DCGM_FI_DEV_GPU_TEMP{", "DCGM_FI_DEV_POWER_USAGE{",
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{", "DCGM_FI_DEV_PCIE_REPLAY_COUNTER{",
        "DCGM_FI_DEV_FB_RESERVED{", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{",
        "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL{", "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL{",
        "DCGM_FI_DEV_VGPU_LICENSE_STATUS{", "DCGM_FI_DEV_ROW_REMAP_FAILURE{",
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE{", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{",
        "DCGM_FI_PROF_DRAM_ACTIVE{", "DCGM_FI_PROF_PCIE_TX_BYTES{"}) {
    const std::size_t found = text.find(name, at);
    ASSERT_NE(found, std::string::npos) << name << " in\n" << text;
    at = found;
  }
  EXPECT_THAT(text, HasSubstr("} 350.5\n"));
  EXPECT_THAT(text, HasSubstr("} 12345678901\n"));
  EXPECT_THAT(text, HasSubstr(std::string("DCGM_FI_DEV_FB_RESERVED") + kGpu + "} 600\n"));
  EXPECT_THAT(text, HasSubstr(std::string("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL") + kGpu + "} 77\n"));
  EXPECT_THAT(text,
              HasSubstr(std::string("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE") + kGpu + "} 0.417000\n"));
  EXPECT_THAT(text, HasSubstr(std::string("DCGM_FI_PROF_DRAM_ACTIVE") + kGpu + "} 0.000000\n"));
  EXPECT_THAT(text, HasSubstr(std::string("DCGM_FI_PROF_PCIE_TX_BYTES") + kGpu + "} 5000000000\n"));
  EXPECT_THAT(text, Not(HasSubstr("DCGM_FI_PROF_PCIE_RX_BYTES")));
  EXPECT_THAT(text, Not(HasSubstr("DCGM_FI_DEV_MEMORY_TEMP")));
  EXPECT_THAT(text, Not(HasSubstr("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL")));
}

TEST(GpuMetrics, WhoseProcessesHaveHowMuchMemory) {
  GpuSamples one = machine();
  one.gpus[0].memory_of = {{.bytes = 5},
                           {.ns = "default", .pod = "train", .container = "c", .bytes = 1 << 20}};
  EXPECT_THAT(gpu_metrics({one}),
              HasSubstr(std::string("# TYPE berth_gpu_container_memory_used_bytes gauge\n"
                                    "berth_gpu_container_memory_used_bytes") +
                        kGpu + R"(,container="",namespace="",pod=""} 5)" + "\n" +
                        "berth_gpu_container_memory_used_bytes" + kGpu +
                        R"(,container="c",namespace="default",pod="train"} 1048576)" + "\n"));
}

TEST(GpuMetrics, LabelsAreEscaped) {
  GpuSamples one = machine();
  one.hostname = "a\"b\\c\nd";
  EXPECT_THAT(gpu_metrics({one}), HasSubstr(R"(Hostname="a\"b\\c\nd")"));
}

} // namespace
} // namespace berth::server
