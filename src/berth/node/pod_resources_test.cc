#include "berth/node/pod_resources.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/virtual_loop.h"
#include "berth/testing/builders.h"
#include "berth/testing/fake_device_plugin.h"
#include "berth/testing/machine_fixture.h"

namespace berth::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::shared_ptr<const model::Pod> pod() {
  return test::pod("p")
      .edit([](auto& document) { api::object_at(document, "metadata")["uid"] = "u"; })
      .init_container("fetch")
      .image("i")
      .sidecar("log")
      .image("i")
      .build();
}

TEST(PodResources, NamesAppContainersAndSidecarsWithOneEntryADeviceAndNode) {
  DeviceLedger ledger;
  ASSERT_TRUE(ledger.record({.pod_uid = "u",
                             .container = "main",
                             .resource = "n.com/gpu",
                             .devices = {{-1, {"c"}}, {0, {"a", "both"}}, {1, {"both"}}},
                             .response = {}}));
  ASSERT_TRUE(ledger.record({.pod_uid = "u",
                             .container = "fetch",
                             .resource = "n.com/nic",
                             .devices = {{0, {"x"}}},
                             .response = {}}));
  const PodResources found = pod_resources(*pod(), ledger, topology::NumaBook());
  EXPECT_EQ(found.name, "p");
  EXPECT_EQ(found.ns, "default");
  ASSERT_THAT(found.containers, SizeIs(2)) << "an init container that ends is not named";
  EXPECT_EQ(found.containers[0], (ContainerResources{.name = "log"}));
  EXPECT_EQ(found.containers[1].name, "main");
  EXPECT_THAT(found.containers[1].devices, ElementsAre(ContainerDevices{"n.com/gpu", {"c"}, {}},
                                                       ContainerDevices{"n.com/gpu", {"a"}, 0},
                                                       ContainerDevices{"n.com/gpu", {"both"}, 0},
                                                       ContainerDevices{"n.com/gpu", {"both"}, 1}));
}

TEST(PodResources, SayWhichCpusAndMemoryAContainerHasForItself) {
  test::MachineWorld world(1, "dgx-h100",
                           {.alignment = {.policy = topology::Policy::SingleNumaNode},
                            .cpu_policy = topology::CpuPolicy::Static,
                            .memory_policy = topology::MemoryPolicy::Static});
  world.plane.create(
      test::MachineWorld::bound("a").extended("cpu", "2").extended("memory", "1Gi").gpus(1));
  world.plane.create(test::MachineWorld::bound("b"));
  world.run(Duration::seconds(10));
  ASSERT_EQ(world.phase("a"), "Running") << world.status("a", "message");
  const PodResourcesReport report = world.machine->agent()->pod_resources();
  ASSERT_THAT(report.pods, SizeIs(2));
  const ContainerResources& own = report.pods[0].containers[0];
  ASSERT_THAT(own.cpu_ids, SizeIs(2));
  ASSERT_THAT(own.memory, SizeIs(1));
  EXPECT_EQ(own.memory[0].type, "memory");
  EXPECT_EQ(own.memory[0].bytes, 1 << 30);
  ASSERT_THAT(own.memory[0].numa, SizeIs(1));
  EXPECT_EQ(own.memory[0].numa[0], own.devices[0].numa) << "all of it on one node";
  EXPECT_THAT(report.pods[1].containers[0].cpu_ids, IsEmpty());
  EXPECT_THAT(report.pods[1].containers[0].memory, IsEmpty());
  const topology::CpuSet reserved = world.machine->agent()->numa().cpus().rules().reserved;
  ASSERT_FALSE(reserved.empty());
  EXPECT_EQ(report.cpu_ids.size(), 224 - reserved.size()) << "given ones among them";
  EXPECT_THAT(report.memory, SizeIs(2)) << "a block for each node";
}

TEST(PodResources, AllocatableIsWhatIsHealthyHeldOrNot) {
  VirtualLoop loop(TimePoint::from_unix_seconds(1));
  PluginEndpoints plugins(loop, Duration::minutes(5), [] {});
  const auto plugin = std::make_shared<test::FakeDevicePlugin>(
      loop, std::vector<deviceplugin::Device>{{.id = "a", .numa_nodes = {0, 1}},
                                              {.id = "sick", .health = "Unhealthy"},
                                              {.id = "c"}});
  plugins.register_plugin({.resource_name = "n.com/gpu", .endpoint = plugin}, [](const auto&) {});
  loop.run_until(loop.now() + Duration::seconds(1));
  EXPECT_THAT(allocatable_devices(plugins), ElementsAre(ContainerDevices{"n.com/gpu", {"a"}, 0},
                                                        ContainerDevices{"n.com/gpu", {"a"}, 1},
                                                        ContainerDevices{"n.com/gpu", {"c"}, {}}));
  plugin->die();
  loop.run_until(loop.now() + Duration::seconds(1));
  EXPECT_THAT(allocatable_devices(plugins), IsEmpty());
}

class Report : public test::MachineFixture {};

TEST_F(Report, NamesNoCpusWhereNobodyGivesThem) {
  plane.create(bound("a"));
  run(Duration::seconds(10));
  const PodResourcesReport report = machine->agent()->pod_resources();
  EXPECT_THAT(report.cpu_ids, IsEmpty());
  EXPECT_THAT(report.memory, IsEmpty());
}

TEST_F(Report, OfAnAgentHasItsActivePodsAndTheirDevices) {
  plane.create(bound("b").gpus(2));
  plane.create(bound("a").gpus(1));
  plane.create(bound("done").gpus(1).restart_policy("Never").run_for("1s"));
  run(Duration::minutes(1));
  ASSERT_EQ(phase("done"), "Succeeded");
  const PodResourcesReport report = machine->agent()->pod_resources();
  ASSERT_THAT(report.pods, SizeIs(2));
  EXPECT_EQ(report.pods[0].name, "a");
  EXPECT_EQ(report.pods[1].name, "b");
  ASSERT_THAT(report.pods[1].containers, SizeIs(1));
  std::vector<std::string> ids;
  for (const ContainerDevices& devices : report.pods[1].containers[0].devices) {
    EXPECT_TRUE(devices.numa);
    ids.insert(ids.end(), devices.ids.begin(), devices.ids.end());
  }
  EXPECT_THAT(ids, ::testing::UnorderedElementsAreArray(held_by("b")));
  EXPECT_THAT(report.devices, SizeIs(8));
  ASSERT_TRUE(machine->inventory().xid(7, 79));
  run(Duration::seconds(1));
  EXPECT_THAT(machine->agent()->pod_resources().devices, SizeIs(7));
}

} // namespace
} // namespace berth::node
