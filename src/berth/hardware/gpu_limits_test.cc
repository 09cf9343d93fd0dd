#include "berth/hardware/gpu_limits.h"

#include <gtest/gtest.h>

#include "berth/hardware/platform.h"

namespace berth::hardware {
namespace {

TEST(GpuLimits, GoByTheMostExactName) {
  EXPECT_EQ(gpu_limits("NVIDIA-H100-80GB-HBM3").most_watts, 700);
  EXPECT_EQ(gpu_limits("NVIDIA-H100-PCIe").most_watts, 350);
  EXPECT_EQ(gpu_limits("NVIDIA-H100-NVL").most_watts, 400);
  EXPECT_EQ(gpu_limits("NVIDIA-H200").memory_mhz, 3201);
  EXPECT_EQ(gpu_limits("NVIDIA-H20").most_watts, 500) << "not the H200's";
  EXPECT_EQ(gpu_limits("NVIDIA-L40S").most_watts, 350) << "not the L4's";
  EXPECT_EQ(gpu_limits("NVIDIA-GB200").most_watts, 1200) << "not the B200's";
  EXPECT_EQ(gpu_limits("Tesla-T4").sm_mhz, 1590);
}

TEST(GpuLimits, OfEveryPlatformAreKnown) {
  const GpuLimits unknown = gpu_limits("GeForce-256");
  for (const std::string& name : Catalogue::builtin().names()) {
    EXPECT_NE(gpu_limits(Catalogue::builtin().find(name)->gpu_model.product), unknown) << name;
  }
  EXPECT_GT(unknown.most_watts, unknown.idle_watts);
}

} // namespace
} // namespace berth::hardware
