// An agent with a container runtime behind a socket, over real time.
#include "berth/node/real_machine.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/client/local_client.h"
#include "berth/node/machine_facts.h"
#include "berth/store/memory_store.h"
#include "berth/testing/builders.h"
#include "berth/testing/fake_cri.h"
#include "berth/testing/temp_files.h"

namespace berth::node {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class RealMachineTest : public test::TempFiles {
 protected:
  void SetUp() override {
    TempFiles::SetUp();
    fake = std::make_unique<test::FakeCri>(loop, path("s"));
  }
  void TearDown() override {
    machine.reset(); // it may still be at work on its files
    TempFiles::TearDown();
  }
  RealMachineOptions options() const {
    return {.name = "n1",
            .cri = {.endpoint = path("s"), .relist_every = Duration::millis(5)},
            .root = path("kubelet"),
            .pod_logs = path("logs")};
  }
  void start() { start(options()); }
  void start(RealMachineOptions with) {
    machine.emplace(loop, client, std::move(with));
    const auto started = machine->start([this](const std::string& line) { steps.push_back(line); });
    ASSERT_TRUE(started.has_value()) << to_string(started.error());
  }
  /// Runs until it holds; a minute is more than anything here takes.
  void until(const std::function<bool()>& holds) {
    const TimePoint end = loop.now() + Duration::minutes(1);
    while (!holds()) {
      ASSERT_LT(loop.now(), end) << "it does not come to that";
      loop.run_for(Duration::millis(2));
    }
  }
  void create(const test::PodBuilder& pod) {
    const auto made = registry.create(*api::Object::from_json(pod.document()), loop.now());
    ASSERT_TRUE(made.has_value()) << to_string(made.error());
  }
  static test::PodBuilder bound(std::string_view name) {
    test::PodBuilder builder(name);
    builder.image("here:1").on_node("n1");
    return builder;
  }
  std::string status(std::string_view name, std::string_view field) const {
    const auto pod = registry.get(store::kPods, {"default", std::string(name)});
    return pod ? std::string(api::string_at(pod->json(), fmt::format("status.{}", field))) : "gone";
  }
  void until_phase(std::string_view name, std::string_view phase) {
    until([&] { return status(name, "phase") == phase; });
  }

  net::AsioLoop loop;
  store::MemoryStore store;
  store::Registry registry{store, Rng(1)};
  client::LocalClient client{registry, loop};
  std::unique_ptr<test::FakeCri> fake;
  std::vector<std::string> steps;
  std::optional<RealMachine> machine;
};

TEST_F(RealMachineTest, ANodeSaysWhatTheMachineIs) {
  start();
  const auto node = [&] { return registry.get(store::kNodes, {"", "n1"}); };
  until([&] { return node().has_value(); });
  const api::json::value& document = node()->json();
  EXPECT_EQ(api::string_at(document, "status.nodeInfo.containerRuntimeVersion"),
            "containerd://1.6.20");
  EXPECT_THAT(std::string(api::string_at(document, "status.capacity.memory")), HasSubstr("Ki"));
  EXPECT_NE(api::string_at(document, "status.capacity.cpu"), "0");
  EXPECT_THAT(steps, Contains("node n1 runs containers with containerd 1.6.20"));
}

TEST_F(RealMachineTest, APodRunsAndEnds) {
  start();
  create(bound("p").restart_policy("Never"));
  until_phase("p", "Running");
  ASSERT_THAT(fake->containers, SizeIs(1));
  fake->end(fake->containers.begin()->first, 3);
  until_phase("p", "Failed");
}

TEST_F(RealMachineTest, ARuntimeThatIsAwayIsWaitedForAndToldOf) {
  fake->stop_serving();
  start();
  until([&] { return !steps.empty(); });
  EXPECT_THAT(steps.front(), HasSubstr("waiting for the container runtime at"));
  EXPECT_EQ(machine->agent(), nullptr);
  fake->serve();
  until([&] { return machine->agent() != nullptr; });
}

TEST_F(RealMachineTest, AnotherLifeOfTheAgentFindsItsContainers) {
  start();
  create(bound("p"));
  until_phase("p", "Running");
  machine.reset();
  start();
  until([&] { return machine->agent() != nullptr && machine->agent()->settled(); });
  EXPECT_THAT(fake->sandboxes, SizeIs(1));
  EXPECT_THAT(fake->containers, SizeIs(1)) << "nothing was started again";
  EXPECT_EQ(status("p", "phase"), "Running");
}

TEST_F(RealMachineTest, WhatWasDeletedWhileTheAgentWasAwayIsEnded) {
  start();
  create(bound("p"));
  until_phase("p", "Running");
  machine.reset();
  ASSERT_TRUE(
      registry.remove(store::kPods, {"default", "p"}, {.grace_period_seconds = 0}, loop.now()));
  start();
  until([&] { return fake->sandboxes.empty(); });
  EXPECT_THAT(fake->containers, IsEmpty());
}

TEST_F(RealMachineTest, ContainersOfOthersOnTheSameRuntimeAreLeftAlone) {
  test::cri::PodSandboxConfig config;
  (*config.mutable_labels())["io.kubernetes.pod.uid"] = "a-kubelets-pod";
  fake->sandboxes["other"] = {.config = config};
  start();
  create(bound("p"));
  until_phase("p", "Running");
  EXPECT_TRUE(fake->sandboxes.contains("other"));
}

class RealNumaTest : public RealMachineTest {
 protected:
  void SetUp() override {
    RealMachineTest::SetUp();
    cpus = read_machine_facts(root())->usable_cpus;
    if (cpus.count() < 2) {
      GTEST_SKIP() << "CPUs of one's own need two CPUs";
    }
    // All of them on one NUMA node, whatever this machine is.
    const std::filesystem::path node = path("sys/devices/system/node/node0");
    std::filesystem::create_directories(node);
    std::ofstream(node / "cpulist") << cpus.to_string() << '\n';
    std::ofstream(node / "meminfo") << "Node 0 MemTotal: 8388608 kB\n";
  }
  RealMachineOptions pinning() const {
    RealMachineOptions with = options();
    with.sysfs = path("sys");
    with.numa.alignment.policy = topology::Policy::SingleNumaNode;
    with.numa.cpu_policy = topology::CpuPolicy::Static;
    with.numa.memory_policy = topology::MemoryPolicy::Static;
    with.reserve.milli_cpu = 1000;
    return with;
  }
  test::FakeCri::Container& container_of(std::string_view pod) {
    const std::string uid = registry.get(store::kPods, {"default", std::string(pod)})->meta().uid;
    const auto found = std::ranges::find_if(fake->containers, [&](const auto& each) {
      return each.second.config.labels().at("io.kubernetes.pod.uid") == uid;
    });
    return found->second;
  }

  topology::CpuSet cpus;
};

TEST_F(RealNumaTest, APodGetsCpusOfItsOwnAndOthersMakeRoom) {
  start(pinning());
  create(bound("shared"));
  until_phase("shared", "Running");
  EXPECT_EQ(container_of("shared").config.linux().resources().cpuset_cpus(), cpus.to_string());
  create(bound("own").extended("cpu", "1").extended("memory", "64Mi"));
  until_phase("own", "Running");
  const test::cri::LinuxContainerResources own = container_of("own").config.linux().resources();
  const topology::CpuSet its = topology::CpuSet::parse(own.cpuset_cpus()).value();
  EXPECT_THAT(its, SizeIs(1));
  EXPECT_EQ(own.cpuset_mems(), "0");
  EXPECT_EQ(own.cpu_quota(), -1) << "who has a CPU of its own is not throttled on it";
  const auto last = [&]() -> std::string {
    const auto& updates = container_of("shared").updates;
    return updates.empty() ? "" : updates.back().cpuset_cpus();
  };
  until([&] { return last() == (cpus - its).to_string(); });
  const std::string folder =
      path("kubelet/pods/" + registry.get(store::kPods, {"default", "own"})->meta().uid);
  ASSERT_TRUE(
      registry.remove(store::kPods, {"default", "own"}, {.grace_period_seconds = 0}, loop.now()));
  until([&] { return last() == cpus.to_string(); });
  until([&] { return !std::filesystem::exists(folder); });
}

TEST_F(RealNumaTest, APodThatCannotBePinnedIsTurnedAway) {
  start(pinning());
  create(bound("big").extended("cpu", fmt::to_string(cpus.count())).extended("memory", "64Mi"));
  until_phase("big", "Failed");
  EXPECT_EQ(status("big", "reason"), "OutOfcpu");
}

TEST_F(RealNumaTest, PoliciesThatTheMachineContradictsAreSaid) {
  RealMachineOptions with = pinning();
  with.reserve.milli_cpu = 0;
  machine.emplace(loop, client, std::move(with));
  const auto started = machine->start([](const std::string&) {});
  ASSERT_FALSE(started.has_value());
  EXPECT_THAT(started.error().message, HasSubstr("the static policy requires systemreserved.cpu"));
}

TEST_F(RealNumaTest, ANodeWithoutPoliciesDoesWithoutNumaNodes) {
  std::ofstream(path("sys/devices/system/node/node0/cpulist")) << "everything";
  RealMachineOptions with = pinning();
  machine.emplace(loop, client, with);
  const auto started = machine->start([](const std::string&) {});
  ASSERT_FALSE(started.has_value());
  EXPECT_THAT(started.error().message, HasSubstr("node0/cpulist: a list such as"));
  with.numa = {};
  start(std::move(with));
  create(bound("p"));
  until_phase("p", "Running");
  EXPECT_EQ(container_of("p").config.linux().resources().cpuset_cpus(), "");
}

TEST_F(RealMachineTest, ADirectoryThatCannotBeMadeIsSaid) {
  write("file", "");
  machine.emplace(loop, client, RealMachineOptions{.name = "n1", .root = path("file/below")});
  const auto started = machine->start([](const std::string&) {});
  ASSERT_FALSE(started.has_value());
  EXPECT_THAT(started.error().message, HasSubstr("file/below: cannot be made"));
}

} // namespace
} // namespace berth::node
