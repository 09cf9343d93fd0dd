#include "berth/cli/agent/gpu_usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using testing::SizeIs;

class TwoGpus final : public inventory::Inventory {
 public:
  const std::vector<inventory::GpuInfo>& gpus() const override { return gpus_; }
  inventory::GpuProbe probe(int index) const override {
    return {.present = index == 0, .last_xid = index == 0 ? 0 : 79};
  }
  inventory::GpuReadings readings(int index) const override {
    inventory::GpuReadings read;
    if (index == 0) {
      read.percent = 12;
      read.memory_used_bytes = 5;
      read.milliwatts = 1000;
      read.last_xid = 13;
      read.instances = {{.uuid = "MIG-x", .profile = "1g.10gb", .gpu_instance = 7}};
    }
    return read;
  }
  inventory::NodeFacts survey() const override { return {}; }
  const hardware::Platform* platform() const override { return nullptr; }
  std::unique_ptr<inventory::Subscription>
  subscribe(std::function<void(const inventory::HealthEvent&)>) override {
    return nullptr;
  }

 private:
  std::vector<inventory::GpuInfo> gpus_{{.index = 0, .uuid = "GPU-a", .memory_mib = 2},
                                        {.index = 1, .uuid = "GPU-b", .memory_mib = 2}};
};

TEST(GpuUsage, IsWhatTheDriverTellsAndWhoHasIt) {
  node::DeviceLedger ledger;
  const auto hold = [&](const std::string& uid, const std::string& id) {
    EXPECT_TRUE(ledger.record({.pod_uid = uid,
                               .container = "c",
                               .resource = "nvidia.com/gpu",
                               .devices = {{-1, {id}}},
                               .response = {}}));
  };
  hold("u2", "GPU-b::1");
  hold("u1", "GPU-b::0");
  hold("u3", "MIG-x");
  const auto usage = gpu_usage(TwoGpus(), &ledger);
  ASSERT_THAT(usage, SizeIs(2));
  EXPECT_EQ(usage[0].percent, 12);
  EXPECT_EQ(usage[0].used_bytes, 5);
  EXPECT_EQ(usage[0].memory_bytes, 2 << 20);
  EXPECT_EQ(usage[0].more.milliwatts, 1000);
  EXPECT_EQ(usage[0].last_xid, 13);
  EXPECT_EQ(usage[0].pod_uid, "");
  ASSERT_THAT(usage[0].instances, SizeIs(1));
  EXPECT_EQ(usage[0].instances[0].pod_uid, "u3");
  EXPECT_EQ(usage[1].percent, std::nullopt);
  EXPECT_EQ(usage[1].last_xid, 79);
  EXPECT_NE(usage[1].sickness, "");
  EXPECT_EQ(usage[1].pod_uid, "u1") << "the first of those that share it";
  ASSERT_THAT(usage[1].sharers, SizeIs(2));
  EXPECT_EQ(usage[1].sharers[1].pod_uid, "u2");
  EXPECT_EQ(usage[1].sharers[1].what, "1 replica");
  EXPECT_EQ(gpu_usage(TwoGpus(), nullptr)[1].pod_uid, "");
  EXPECT_THAT(gpu_usage(TwoGpus(), nullptr)[1].sharers, SizeIs(0));
}

} // namespace
} // namespace berth::cli
