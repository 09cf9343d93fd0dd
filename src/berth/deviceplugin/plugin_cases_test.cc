// Cases that users of device plugins reported, each by its own name.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/deviceplugin/plugin_fixture.h"

namespace berth::deviceplugin {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Cases : public test::Plugin {
 protected:
  void share(int replicas) {
    options_.config.sharing.time_slicing = SharedResources{
        .resources = {{.name = "nvidia.com/gpu", .devices = {}, .replicas = replicas}}};
  }
  void cut(int gpu, std::string_view wishes) {
    const auto done = inventory_.cut(gpu, wishes);
    ASSERT_TRUE(done) << to_string(done.error());
  }
  void cut_all(std::string_view wishes) {
    for (int gpu = 0; gpu < 8; ++gpu) {
      cut(gpu, wishes);
    }
  }
  const inventory::MigDevice& mig(int gpu, std::size_t number) {
    facts_ = inventory_.survey();
    return facts_.gpus[static_cast<std::size_t>(gpu)].mig[number];
  }
  std::set<std::string> replicas(int gpu, int count) const {
    std::set<std::string> ids;
    for (int i = 0; i < count; ++i) {
      ids.insert(fmt::format("{}::{}", uuid(gpu), i));
    }
    return ids;
  }

  inventory::NodeFacts facts_;
};

TEST_F(Cases, AnXidReachesEveryReplicaOfItsGpuAndNoOther) {
  share(3);
  start();
  watch();
  ASSERT_THAT(lists_["nvidia.com/gpu"], SizeIs(24));
  ASSERT_TRUE(inventory_.xid(2, 48));
  run();
  EXPECT_EQ(ids(kUnhealthy), replicas(2, 3));
  ASSERT_TRUE(inventory_.repair(2));
  run();
  EXPECT_THAT(ids(kUnhealthy), IsEmpty());
}

TEST_F(Cases, AnXidOfTheGpuReachesEveryMigDeviceOnIt) {
  options_.config.flags.mig_strategy = inventory::MigStrategy::Mixed;
  cut(1, "1g.10gb=2,3g.40gb=1");
  cut(2, "1g.10gb=1");
  start();
  watch("nvidia.com/mig-1g.10gb");
  watch("nvidia.com/mig-3g.40gb");
  ASSERT_TRUE(inventory_.xid(1, 79));
  run();
  EXPECT_THAT(ids(kUnhealthy, "nvidia.com/mig-1g.10gb"), SizeIs(2));
  EXPECT_THAT(ids(kHealthy, "nvidia.com/mig-1g.10gb"), ElementsAre(mig_uuid(2, 0)));
  EXPECT_THAT(ids(kUnhealthy, "nvidia.com/mig-3g.40gb"), SizeIs(1));
}

TEST_F(Cases, AnXidOfOneMigDeviceReachesThatDeviceAlone) {
  options_.config.flags.mig_strategy = inventory::MigStrategy::Mixed;
  cut(1, "1g.10gb=3");
  start();
  watch("nvidia.com/mig-1g.10gb");
  ASSERT_TRUE(inventory_.xid_of(1, mig(1, 1), 94)); // contained: the device goes on
  run();
  EXPECT_THAT(ids(kUnhealthy, "nvidia.com/mig-1g.10gb"), IsEmpty());
  ASSERT_TRUE(inventory_.xid_of(1, mig(1, 1), 95));
  run();
  EXPECT_THAT(ids(kUnhealthy, "nvidia.com/mig-1g.10gb"), ElementsAre(mig_uuid(1, 1)));
}

TEST_F(Cases, AMigDeviceIsWellAgainWhenItsGpuStillAnswersWellMuchLater) {
  options_.config.flags.mig_strategy = inventory::MigStrategy::Mixed;
  cut(1, "1g.10gb=3");
  start();
  watch("nvidia.com/mig-1g.10gb");
  ASSERT_TRUE(inventory_.xid_of(1, mig(1, 1), 95));
  run(Duration::minutes(4));
  EXPECT_THAT(ids(kUnhealthy, "nvidia.com/mig-1g.10gb"), SizeIs(1));
  run(Duration::minutes(2));
  EXPECT_THAT(ids(kUnhealthy, "nvidia.com/mig-1g.10gb"), IsEmpty());
}

TEST_F(Cases, ADeviceReturnsToHealthyWithoutARestartOfThePlugin) {
  start();
  watch();
  ASSERT_TRUE(inventory_.lose(4));
  run(Duration::hours(1));
  EXPECT_THAT(ids(kUnhealthy), ElementsAre(uuid(4)));
  ASSERT_TRUE(inventory_.repair(4));
  run();
  EXPECT_THAT(ids(kUnhealthy), IsEmpty());
}

TEST_F(Cases, SeveralReplicasAreOfDistinctGpusOrTheRequestIsRefused) {
  share(4);
  options_.config.sharing.time_slicing->require_distinct_devices = true;
  start();
  std::vector<std::string> available;
  for (const PluginDevice& device : plugin().resource().devices) {
    available.push_back(device.id);
  }
  const auto preferred = asked<std::vector<std::string>>([&](auto done) {
    plugin().connect()->get_preferred_allocation({.available = available, .allocation_size = 8},
                                                 done);
  });
  ASSERT_TRUE(preferred);
  std::set<std::string> gpus;
  for (const std::string& id : *preferred) {
    gpus.insert(id.substr(0, id.find("::")));
  }
  EXPECT_THAT(gpus, SizeIs(8));
  // Where the least used GPU has room for both, distinct ones are preferred all the same.
  const auto uneven = asked<std::vector<std::string>>([&](auto done) {
    plugin().connect()->get_preferred_allocation(
        {.available = {uuid(0) + "::0", uuid(0) + "::1", uuid(0) + "::2", uuid(0) + "::3",
                       uuid(1) + "::0"},
         .allocation_size = 2},
        done);
  });
  ASSERT_TRUE(uneven);
  EXPECT_THAT(*uneven, ::testing::Contains(uuid(1) + "::0"));
  EXPECT_TRUE(allocate(plugin().connect(), {*preferred}));
  const auto twice = allocate(plugin().connect(), {{uuid(0) + "::0", uuid(0) + "::1"}});
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, HasSubstr("replicas must be of distinct devices"));
}

TEST_F(Cases, MixedTypesUnderStrategySingleAdvertiseNothingAndThePluginGoesOn) {
  options_.config.flags.mig_strategy = inventory::MigStrategy::Single;
  cut_all("1g.10gb=7");
  cut(3, "2g.20gb=3");
  const auto listening = socket_.listen(kubelet_).value();
  start();
  EXPECT_THAT(kubelet_.resources(), ElementsAre("nvidia.com/gpu"));
  watch();
  EXPECT_THAT(lists_["nvidia.com/gpu"], IsEmpty());
  EXPECT_THAT(set_->problems(),
              ElementsAre(HasSubstr("more than one MIG device type present on node")));
  cut(3, "1g.10gb=7");
  run();
  EXPECT_THAT(lists_["nvidia.com/gpu"], SizeIs(56));
  EXPECT_THAT(set_->problems(), IsEmpty());
}

TEST_F(Cases, MigWithoutInstancesAdvertisesNothingAndThePluginGoesOn) {
  options_.config.flags.mig_strategy = inventory::MigStrategy::Mixed;
  cut_all("");
  start();
  watch();
  EXPECT_THAT(lists_["nvidia.com/gpu"], IsEmpty());
  EXPECT_THAT(set_->problems(), Contains("device 0 has no MIG devices configured"));
  cut(0, "7g.80gb=1");
  run();
  watch("nvidia.com/mig-7g.80gb");
  EXPECT_THAT(ids(kHealthy, "nvidia.com/mig-7g.80gb"), ElementsAre(mig_uuid(0, 0)));
}

TEST_F(Cases, AChangeOfMigIsSeenWithoutARestart) {
  options_.config.flags.mig_strategy = inventory::MigStrategy::Mixed;
  const auto listening = socket_.listen(kubelet_).value();
  start();
  watch();
  EXPECT_THAT(lists_["nvidia.com/gpu"], SizeIs(8));
  cut(5, "3g.40gb=2");
  run();
  EXPECT_THAT(lists_["nvidia.com/gpu"], SizeIs(7));
  EXPECT_THAT(kubelet_.resources(), ElementsAre("nvidia.com/gpu", "nvidia.com/mig-3g.40gb"));
  watch("nvidia.com/mig-3g.40gb");
  EXPECT_THAT(ids(kHealthy, "nvidia.com/mig-3g.40gb"), SizeIs(2));
  ASSERT_TRUE(inventory_.uncut(5));
  run();
  EXPECT_THAT(lists_["nvidia.com/mig-3g.40gb"], IsEmpty()) << "none of what was";
  EXPECT_THAT(lists_["nvidia.com/gpu"], SizeIs(8));
  run(Duration::minutes(1));
  EXPECT_THAT(set_->resources(), ElementsAre("nvidia.com/gpu"));
}

TEST_F(Cases, MigDevicesHaveTheNumaNodeOfTheirGpu) {
  options_.config.flags.mig_strategy = inventory::MigStrategy::Single;
  cut_all("1g.10gb=2");
  start();
  watch();
  ASSERT_THAT(lists_["nvidia.com/gpu"], SizeIs(16));
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_THAT(lists_["nvidia.com/gpu"][i].numa_nodes,
                ElementsAre(*inventory_.gpus()[i / 2].numa));
  }
}

TEST_F(Cases, TheSpecHasANewMigDeviceBeforeTheDeviceIsAdvertised) {
  options_.config.flags.mig_strategy = inventory::MigStrategy::Mixed;
  start();
  cut(0, "1g.10gb=1");
  const std::string id = mig_uuid(0, 0);
  run();
  EXPECT_TRUE(cdi_.find("k8s.device-plugin.nvidia.com/gpu=" + id).device);
  specs_.full = true;
  cut(0, "1g.10gb=2");
  run();
  watch("nvidia.com/mig-1g.10gb");
  EXPECT_THAT(lists_["nvidia.com/mig-1g.10gb"], IsEmpty()) << "no spec names them";
  EXPECT_THAT(set_->problems(), Contains(HasSubstr("no space left on device")));
  specs_.full = false;
  run(Duration::minutes(1));
  EXPECT_THAT(ids(kHealthy, "nvidia.com/mig-1g.10gb"), SizeIs(2));
  EXPECT_TRUE(cdi_.find("k8s.device-plugin.nvidia.com/gpu=" + mig_uuid(0, 1)).device);
  EXPECT_THAT(set_->problems(), IsEmpty());
}

TEST_F(Cases, AFullDiskAtTheStartRegistersNothingUntilTheSpecIsWritten) {
  specs_.full = true;
  const auto listening = socket_.listen(kubelet_).value();
  start();
  run(Duration::minutes(2));
  EXPECT_THAT(kubelet_.requests, IsEmpty());
  EXPECT_EQ(specs_.puts, 8) << "again after 1, 2, 4, 8, 16, 30 and 30 seconds";
  specs_.full = false;
  run(Duration::minutes(1));
  EXPECT_THAT(kubelet_.resources(), ElementsAre("nvidia.com/gpu"));
}

TEST_F(Cases, AMigDeviceWithoutCapabilityFilesIsNotAdvertised) {
  options_.config.flags.mig_strategy = inventory::MigStrategy::Mixed;
  options_.nodes.mig = cdi::MigMinors::parse("gpu0/gi1/access 12\ngpu0/gi1/ci0/access 13\n");
  cut(0, "1g.10gb=2");
  start();
  watch("nvidia.com/mig-1g.10gb");
  EXPECT_THAT(ids(kHealthy, "nvidia.com/mig-1g.10gb"), ElementsAre(mig_uuid(0, 0)));
  EXPECT_THAT(set_->problems(), ElementsAre(HasSubstr(mig_uuid(0, 1))));
}

TEST_F(Cases, AGpuIsHealthyOnceItsFabricIsReady) {
  ASSERT_TRUE(inventory_.set_fabric(6, inventory::FabricState::InProgress));
  start();
  watch();
  EXPECT_THAT(ids(kUnhealthy), ElementsAre(uuid(6)));
  ASSERT_TRUE(inventory_.set_fabric(6, inventory::FabricState::Failed));
  run();
  EXPECT_THAT(ids(kUnhealthy), ElementsAre(uuid(6)));
  ASSERT_TRUE(inventory_.set_fabric(6, inventory::FabricState::Completed));
  run();
  EXPECT_THAT(ids(kUnhealthy), IsEmpty());
}

TEST_F(Cases, AnXidThatIsSkippedLeavesTheDeviceAlone) {
  options_.config.health.disabled = {48};
  start();
  watch();
  ASSERT_TRUE(inventory_.xid(0, 48));
  ASSERT_TRUE(inventory_.xid(1, 74));
  run();
  EXPECT_THAT(ids(kUnhealthy), ElementsAre(uuid(1)));
}

TEST_F(Cases, AnXidThatIsEnabledCountsForAWhile) {
  options_.config.health.enabled = {31};
  start();
  watch();
  ASSERT_TRUE(inventory_.xid(0, 31));
  run(Duration::minutes(3));
  EXPECT_THAT(ids(kUnhealthy), ElementsAre(uuid(0)));
  ASSERT_TRUE(inventory_.xid(0, 31));
  run(Duration::minutes(3));
  EXPECT_THAT(ids(kUnhealthy), ElementsAre(uuid(0))) << "it came again";
  run(Duration::minutes(3));
  EXPECT_THAT(ids(kUnhealthy), IsEmpty());
}

// Programs that succeed or fail as the test says, and a record of what was asked.
class Recorder final : public CommandRunner {
 public:
  explicit Recorder(Loop& loop) : loop_(&loop) {}
  void run(const Command& command, Done<std::string> done) override {
    lines.push_back(to_string(command));
    const bool fails = broken ||
                       (refuses_limits && lines.back().find("set_default") != std::string::npos) ||
                       (lines.back().find("get_default") != std::string::npos && !alive);
    alive = alive || (!fails && command.argv.back() == "-d");
    loop_->post([done = std::move(done), fails] {
      done(fails ? Result<std::string>(fail(Code::Unavailable, "no")) : "ok");
    });
  }

  std::vector<std::string> lines;
  bool broken = false;
  bool refuses_limits = false;
  bool alive = false;

 private:
  Loop* loop_;
};

class MpsCases : public Cases {
 protected:
  MpsCases() {
    options_.config.flags.mps_root = "/run/nvidia/mps";
    options_.config.sharing.mps = SharedResources{
        .fail_requests_greater_than_one = true,
        .resources = {{.name = "nvidia.com/gpu", .devices = {.count = 1}, .replicas = 4}}};
  }
  void start_with_mps() {
    PluginPlace with = place();
    with.commands = &recorder_;
    set_ = std::make_unique<PluginSet>(with, options_);
    run();
  }

  Recorder recorder_{loop_};
};

TEST_F(MpsCases, WhatMpsSharesIsRegisteredOnlyWhenItsLimitsAreInForce) {
  const auto listening = socket_.listen(kubelet_).value();
  recorder_.broken = true;
  start_with_mps();
  run(Duration::minutes(1));
  EXPECT_THAT(kubelet_.requests, IsEmpty());
  EXPECT_THAT(set_->problems(), ElementsAre(HasSubstr("before MPS runs")));
  recorder_.broken = false;
  recorder_.lines.clear();
  run(Duration::minutes(1));
  EXPECT_THAT(kubelet_.resources(), ElementsAre("nvidia.com/gpu"));
  EXPECT_THAT(set_->problems(), IsEmpty());
  EXPECT_THAT(recorder_.lines, Contains("echo set_default_active_thread_percentage 25 | "
                                        "nvidia-cuda-mps-control"));
}

TEST_F(MpsCases, AResourceWhoseLimitsAreRefusedIsNotRegistered) {
  const auto listening = socket_.listen(kubelet_).value();
  recorder_.alive = true;
  recorder_.refuses_limits = true;
  start_with_mps();
  run(Duration::minutes(1));
  EXPECT_THAT(kubelet_.requests, IsEmpty());
  recorder_.refuses_limits = false;
  run(Duration::minutes(1));
  EXPECT_THAT(kubelet_.resources(), ElementsAre("nvidia.com/gpu"));
}

TEST_F(MpsCases, ADaemonThatRunsAlreadyIsKept) {
  recorder_.alive = true;
  start_with_mps();
  EXPECT_NE(set_->find("nvidia.com/gpu"), nullptr);
  EXPECT_THAT(recorder_.lines, ::testing::Not(Contains(HasSubstr("-d"))));
  EXPECT_THAT(recorder_.lines, Contains(HasSubstr("set_default_device_pinned_mem_limit 0")));
  set_.reset();
  run();
  EXPECT_THAT(recorder_.lines, ::testing::Not(Contains(HasSubstr("quit")))) << "it has clients";
}

TEST_F(MpsCases, AClientGetsThePipeAndTheSharedMemory) {
  start_with_mps();
  const auto answer = allocate(plugin().connect(), {{uuid(0) + "::2"}});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->front().envs.at("CUDA_MPS_PIPE_DIRECTORY"), "/mps/nvidia.com/gpu/pipe");
  EXPECT_THAT(answer->front().mounts,
              ElementsAre(Mount{.container_path = "/mps/nvidia.com/gpu/pipe",
                                .host_path = "/run/nvidia/mps/nvidia.com/gpu/pipe"},
                          Mount{.container_path = "/dev/shm", .host_path = "/run/nvidia/mps/shm"}));
  const auto two = allocate(plugin().connect(), {{uuid(0) + "::2", uuid(0) + "::3"}});
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().message,
            "invalid allocation request for \"nvidia.com/gpu\": invalid request: maximum request "
            "size for shared resources is 1; found 2");
}

TEST_F(MpsCases, AMachineThatCannotStartMpsSaysSo) {
  start();
  EXPECT_EQ(set_->find("nvidia.com/gpu"), nullptr);
  EXPECT_THAT(set_->problems(), ElementsAre(HasSubstr("nothing here can start MPS")));
}

} // namespace
} // namespace berth::deviceplugin
