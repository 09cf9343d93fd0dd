#include "berth/deviceplugin/plugin_set.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/deviceplugin/plugin_fixture.h"
#include "berth/hardware/choose.h"

namespace berth::deviceplugin {
namespace {

using test::Plugin;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

TEST_F(Plugin, RegistersAsTheStockPluginDoes) {
  const auto listening = socket_.listen(kubelet_);
  start();
  ASSERT_THAT(kubelet_.requests, SizeIs(1));
  EXPECT_EQ(kubelet_.requests[0].version, "v1beta1");
  EXPECT_EQ(kubelet_.requests[0].resource_name, "nvidia.com/gpu");
  ASSERT_TRUE(kubelet_.requests[0].endpoint);
  const auto options = asked<DevicePluginOptions>(
      [&](auto done) { kubelet_.requests[0].endpoint->get_options(done); });
  EXPECT_EQ(*options, (DevicePluginOptions{.pre_start_required = false,
                                           .get_preferred_allocation_available = true}));
}

TEST_F(Plugin, TheCdiSpecIsThereBeforeAnyDeviceIsAdvertised) {
  set_ = std::make_unique<PluginSet>(place(), options_);
  EXPECT_THAT(cdi_.names(), SizeIs(8));
  EXPECT_TRUE(cdi_.find("k8s.device-plugin.nvidia.com/gpu=" + uuid(7)).device);
}

TEST_F(Plugin, RegistersWithEveryKubeletThatComes) {
  start();
  EXPECT_THAT(kubelet_.requests, IsEmpty());
  auto listening = socket_.listen(kubelet_);
  run();
  EXPECT_THAT(kubelet_.requests, SizeIs(1));
  listening.reset();
  run(Duration::minutes(5));
  EXPECT_THAT(kubelet_.requests, SizeIs(1));
  listening = socket_.listen(kubelet_);
  run();
  EXPECT_THAT(kubelet_.requests, SizeIs(2));
}

TEST_F(Plugin, ARefusalIsTriedAgainMoreAndMoreSlowly) {
  kubelet_.answer = fail(Code::Invalid, "no");
  const auto listening = socket_.listen(kubelet_);
  start();
  std::vector<std::int64_t> times;
  std::size_t seen = 0;
  const TimePoint began = loop_.now();
  while (loop_.now() < began + Duration::minutes(3)) {
    if (kubelet_.requests.size() > seen) {
      seen = kubelet_.requests.size();
      times.push_back((loop_.now() - began).count_seconds());
    }
    run(Duration::seconds(1));
  }
  // 1, 2, 4, 8, 16, 30, 30 ... seconds apart.
  EXPECT_THAT(times, ElementsAre(0, 1, 3, 7, 15, 31, 61, 91, 121, 151));
  kubelet_.answer = {};
  run(Duration::minutes(1));
  const std::size_t accepted = kubelet_.requests.size();
  run(Duration::minutes(10));
  EXPECT_EQ(kubelet_.requests.size(), accepted);
}

TEST_F(Plugin, ListsEveryGpuWithItsNumaNode) {
  start();
  std::vector<std::vector<Device>> lists;
  const auto stream = plugin().connect()->list_and_watch(
      [&](std::vector<Device> devices) { lists.push_back(std::move(devices)); },
      [](const Error&) {});
  run();
  ASSERT_THAT(lists, SizeIs(1));
  ASSERT_THAT(lists[0], SizeIs(8));
  EXPECT_THAT(sick(lists[0]), IsEmpty());
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_THAT(lists[0][i].numa_nodes, ElementsAre(*inventory_.gpus()[i].numa));
  }
}

TEST_F(Plugin, AGpuWithoutTopologyIsNotOnNodeZero) {
  inventory::SimulatedInventory unknown(loop_, 2, "n2");
  PluginPlace elsewhere = place();
  elsewhere.inventory = &unknown;
  set_ = std::make_unique<PluginSet>(elsewhere, options_);
  std::vector<Device> list;
  const auto stream = plugin().connect()->list_and_watch(
      [&](std::vector<Device> devices) { list = std::move(devices); }, [](const Error&) {});
  run();
  ASSERT_THAT(list, SizeIs(2));
  EXPECT_THAT(list[0].numa_nodes, IsEmpty());
  set_.reset();
}

TEST_F(Plugin, EveryChangeOfHealthIsAListAndNothingElseIs) {
  start();
  std::vector<std::set<int>> lists;
  const auto stream = plugin().connect()->list_and_watch(
      [&](const std::vector<Device>& devices) { lists.push_back(sick(devices)); },
      [](const Error&) {});
  run();
  const auto after = [&](const Result<void>& act) {
    EXPECT_TRUE(act);
    lists.clear();
    run();
    return lists;
  };
  using Lists = std::vector<std::set<int>>;
  EXPECT_EQ(after(inventory_.xid(2, 13)), Lists{}) << "the application's fault";
  EXPECT_EQ(after(inventory_.xid(2, 63)), Lists{}) << "degraded";
  EXPECT_EQ(after(inventory_.xid(2, 48)), Lists{{2}});
  EXPECT_EQ(after(inventory_.xid(2, 79)), Lists{}) << "it was sick before";
  EXPECT_EQ(after(inventory_.lose(5)), (Lists{{2, 5}}));
  EXPECT_EQ(after(inventory_.repair(2)), Lists{{5}});
  EXPECT_EQ(after(inventory_.repair(5)), Lists{{}});
}

TEST_F(Plugin, ARestartedPluginProbes) {
  ASSERT_TRUE(inventory_.xid(3, 48));
  start();
  std::vector<Device> list;
  auto stream = plugin().connect()->list_and_watch(
      [&](std::vector<Device> devices) { list = std::move(devices); }, [](const Error&) {});
  run();
  EXPECT_EQ(sick(list), std::set<int>{3});
}

TEST_F(Plugin, AllocateGivesEnvironmentDeviceNodesAndCdiNames) {
  start();
  const auto answer = allocate(plugin().connect(), {{uuid(6), uuid(1)}, {uuid(0)}});
  ASSERT_TRUE(answer);
  ASSERT_THAT(*answer, SizeIs(2));
  const ContainerAllocateResponse& first = answer->front();
  EXPECT_THAT(first.envs, ElementsAre(Pair("NVIDIA_VISIBLE_DEVICES", uuid(6) + "," + uuid(1))));
  EXPECT_THAT(first.cdi_devices, ElementsAre("k8s.device-plugin.nvidia.com/gpu=" + uuid(6),
                                             "k8s.device-plugin.nvidia.com/gpu=" + uuid(1)));
  std::vector<std::string> nodes;
  for (const DeviceSpec& device : first.devices) {
    EXPECT_EQ(device.container_path, device.host_path);
    EXPECT_EQ(device.permissions, "rw");
    nodes.push_back(device.host_path);
  }
  EXPECT_THAT(nodes, ::testing::UnorderedElementsAre("/dev/nvidiactl", "/dev/nvidia-uvm",
                                                     "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset",
                                                     "/dev/nvidia6", "/dev/nvidia1"));
  EXPECT_THAT(first.mounts, IsEmpty());
  EXPECT_THAT(first.annotations, IsEmpty());
  EXPECT_EQ(answer->back().envs.at("NVIDIA_VISIBLE_DEVICES"), uuid(0));
}

TEST_F(Plugin, EveryCdiNameItGivesResolves) {
  start();
  std::vector<std::string> all;
  for (int gpu = 0; gpu < 8; ++gpu) {
    all.push_back(uuid(gpu));
  }
  const auto answer = allocate(plugin().connect(), {all});
  ASSERT_TRUE(answer);
  for (const std::string& name : answer->front().cdi_devices) {
    EXPECT_TRUE(cdi_.find(name).device) << name;
  }
}

TEST_F(Plugin, AllocateTakesAnIdOnceAndRefusesAStranger) {
  start();
  const auto twice = allocate(plugin().connect(), {{uuid(1), uuid(1)}});
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->front().envs.at("NVIDIA_VISIBLE_DEVICES"), uuid(1));
  EXPECT_THAT(twice->front().cdi_devices, SizeIs(1));
  const auto stranger = allocate(plugin().connect(), {{uuid(1)}, {"GPU-x"}});
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().message,
            "invalid allocation request for \"nvidia.com/gpu\": invalid request: unknown device: "
            "GPU-x");
}

TEST_F(Plugin, PrefersByTopology) {
  start();
  std::vector<std::string> available;
  for (int gpu = 1; gpu < 8; ++gpu) {
    available.push_back(uuid(gpu));
  }
  const auto chosen = asked<std::vector<std::string>>([&](auto done) {
    plugin().connect()->get_preferred_allocation({.available = available, .allocation_size = 4},
                                                 done);
  });
  const auto mask =
      hardware::choose_gpus(*inventory_.platform(), 0xfe, 4, hardware::ChoicePolicy::Topology);
  std::vector<std::string> want;
  for (int gpu = 0; gpu < 8; ++gpu) {
    if ((*mask >> gpu) & 1U) {
      want.push_back(uuid(gpu));
    }
  }
  EXPECT_EQ(*chosen, want);
}

TEST_F(Plugin, PreStartIsNoQuestion) {
  start();
  EXPECT_TRUE(
      asked<void>([&](auto done) { plugin().connect()->pre_start_container({uuid(0)}, done); }));
}

TEST_F(Plugin, ADroppedStreamHearsNothing) {
  start();
  int lists = 0;
  auto stream = plugin().connect()->list_and_watch([&](const std::vector<Device>&) { ++lists; },
                                                   [&](const Error&) { ++lists; });
  stream.reset();
  run();
  ASSERT_TRUE(inventory_.lose(0));
  run();
  set_.reset();
  run();
  EXPECT_EQ(lists, 0);
}

TEST_F(Plugin, ACrashEndsStreamsAndFailsCalls) {
  options_.rpc_takes = Duration::seconds(2);
  start();
  const auto connection = plugin().connect();
  std::vector<std::string> ends;
  const auto stream =
      connection->list_and_watch([](const std::vector<Device>&) {},
                                 [&](const Error& error) { ends.push_back(error.message); });
  std::optional<Error> in_flight;
  connection->allocate({{uuid(0)}}, [&](const auto& answer) {
    if (!answer) {
      in_flight = answer.error();
    }
  });
  run(Duration::seconds(1));
  EXPECT_FALSE(in_flight);
  set_.reset();
  run(Duration::seconds(5));
  EXPECT_THAT(ends, ElementsAre("connection to the device plugin lost"));
  ASSERT_TRUE(in_flight);
  EXPECT_EQ(in_flight->code, Code::Unavailable);
  const auto later = allocate(connection, {{uuid(0)}});
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().code, Code::Unavailable);
  // A stream that is opened to a dead plugin ends at once.
  const auto late =
      connection->list_and_watch([](const std::vector<Device>&) { ADD_FAILURE(); },
                                 [&](const Error& error) { ends.push_back(error.message); });
  run();
  EXPECT_THAT(ends, SizeIs(2));
}

TEST_F(Plugin, AnAnswerTakesItsTime) {
  options_.rpc_takes = Duration::seconds(2);
  start();
  const TimePoint asked_at = loop_.now();
  std::optional<TimePoint> answered;
  plugin().connect()->get_options([&](const auto&) { answered = loop_.now(); });
  run(Duration::seconds(5));
  ASSERT_TRUE(answered);
  EXPECT_EQ(*answered - asked_at, Duration::seconds(2));
}

} // namespace
} // namespace berth::deviceplugin
