#include "berth/cli/agent/gpu_usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/temp_files.h"

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
      read.processes = {{.pid = 71, .memory_mib = 3, .gpu_instance = 7}, {.pid = 72}, {.pid = 73}};
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

class GpuProcesses : public test::TempFiles {};

TEST_F(GpuProcesses, AreThoseOfThePodsWhoseContainersTheyAreIn) {
  const std::string ours(64, 'a');
  const std::string nested(64, 'b');
  for (const std::string pid : {"71", "72"}) {
    std::filesystem::create_directories(path(pid));
  }
  write("71/comm", "python3\n");
  write("71/cgroup", "0::/k8s.io/" + ours + "/docker/" + nested + "\n");
  write("72/comm", "Xorg\n");
  write("72/cgroup", "0::/user.slice\n");
  auto usage = gpu_usage(TwoGpus(), nullptr);
  name_processes(usage, root(),
                 [&](std::string_view id) -> std::optional<node::Agent::ContainerOwner> {
                   return id == ours ? std::optional(node::Agent::ContainerOwner{"u1", "train"})
                                     : std::nullopt;
                 });
  ASSERT_THAT(usage[0].processes, SizeIs(3));
  const server::GpuProcess& in_pod = usage[0].processes[0];
  EXPECT_EQ(in_pod.pid, 71);
  EXPECT_EQ(in_pod.name, "python3");
  EXPECT_EQ(in_pod.used_bytes, 3 << 20);
  EXPECT_EQ(in_pod.gpu_instance, 7);
  EXPECT_EQ(in_pod.pod_uid, "u1");
  EXPECT_EQ(in_pod.container, "train");
  EXPECT_EQ(usage[0].processes[1].name, "Xorg");
  EXPECT_EQ(usage[0].processes[1].pod_uid, "");
  EXPECT_EQ(usage[0].processes[1].used_bytes, std::nullopt);
  EXPECT_EQ(usage[0].processes[1].gpu_instance, std::nullopt);
  EXPECT_EQ(usage[0].processes[2].name, "") << "it is gone";
  EXPECT_THAT(usage[1].processes, SizeIs(0));
  EXPECT_THAT(machine_gpu_usage(nullptr, nullptr), SizeIs(0));
}

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
