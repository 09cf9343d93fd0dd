#include "berth/node/device_manager.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/log.h"
#include "berth/base/rng.h"
#include "berth/base/virtual_loop.h"
#include "berth/node/checkpoint.h"
#include "berth/testing/builders.h"
#include "berth/testing/fake_device_plugin.h"

namespace berth::node {
namespace {

using deviceplugin::Device;
using test::FakeDevicePlugin;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using Kind = AllocationVerdict::Kind;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr const char* kNic = "example.com/nic";

std::vector<Device> devices(std::string_view prefix, int count) {
  std::vector<Device> list;
  for (int i = 0; i < count; ++i) {
    list.push_back({.id = fmt::format("{}{}", prefix, i), .numa_nodes = {i < count / 2 ? 0 : 1}});
  }
  return list;
}

// A manager with a plugin of eight GPUs, "g0" to "g7".
class Manager : public ::testing::Test {
 protected:
  Manager() {
    set_log_level(LogLevel::Off);
    start();
    plug(gpus_, kGpu);
  }
  ~Manager() override { set_log_level(LogLevel::Warn); }

  void start() {
    manager_ = std::make_unique<DeviceManager>(
        loop_, disk_,
        DeviceManagerOptions{
            .boot_id = boot_,
            .needs_plugin = [](std::string_view resource) { return resource == kGpu; },
            .gpu_of_index = [](int index) -> std::optional<std::string> {
              return index < 8 ? std::optional(fmt::format("g{}", index)) : std::nullopt;
            },
            .holder_state =
                [this](std::string_view uid) {
                  return gone_.contains(uid)    ? HolderState::Gone
                         : dying_.contains(uid) ? HolderState::Dying
                                                : HolderState::Live;
                },
            .on_change = [this] { ++changes_; }});
  }
  void plug(const std::shared_ptr<FakeDevicePlugin>& plugin, std::string_view resource) {
    std::optional<Result<void>> answer;
    manager_->register_plugin({.resource_name = std::string(resource), .endpoint = plugin},
                              [&](Result<void> result) { answer = std::move(result); });
    run();
    ASSERT_TRUE(answer && *answer);
  }
  void run(Duration span = Duration::millis(1)) { loop_.run_until(loop_.now() + span); }

  static std::shared_ptr<const model::Pod> pod(test::PodBuilder builder) {
    const std::string uid = "uid-" + std::string(builder.build()->meta.name);
    return builder.edit([&](auto& document) { api::object_at(document, "metadata")["uid"] = uid; })
        .build();
  }
  AllocationVerdict allocate(const std::shared_ptr<const model::Pod>& of,
                             AllocationScope scope = AllocationScope::Whole) {
    std::optional<AllocationVerdict> verdict;
    manager_->allocate(of, scope, [&](AllocationVerdict said) { verdict = std::move(said); });
    EXPECT_FALSE(verdict) << "the answer is a later task";
    run(Duration::minutes(1));
    EXPECT_TRUE(verdict) << "no answer";
    return verdict.value_or(AllocationVerdict());
  }
  AllocationVerdict prepare(const std::shared_ptr<const model::Pod>& of,
                            const std::string& container = "main") {
    std::optional<AllocationVerdict> verdict;
    manager_->prepare_container(of, container,
                                [&](AllocationVerdict said) { verdict = std::move(said); });
    EXPECT_FALSE(verdict) << "the answer is a later task";
    run(Duration::minutes(1));
    EXPECT_TRUE(verdict) << "no answer";
    return verdict.value_or(AllocationVerdict());
  }
  std::vector<std::string> held(std::string_view name, std::string_view container = "main",
                                std::string_view resource = kGpu) const {
    const Holding* holding =
        manager_->ledger().find("uid-" + std::string(name), container, resource);
    return holding ? holding->ids() : std::vector<std::string>();
  }
  Checkpoint saved() const { return decode_checkpoint(disk_.bytes().value_or("")).value(); }

  VirtualLoop loop_{TimePoint::from_unix_seconds(1'700'000'000)};
  MemoryCheckpointStore disk_;
  std::string boot_ = "boot-1";
  std::set<std::string, std::less<>> dying_;
  std::set<std::string, std::less<>> gone_;
  int changes_ = 0;
  std::shared_ptr<FakeDevicePlugin> gpus_ =
      std::make_shared<FakeDevicePlugin>(loop_, devices("g", 8));
  std::unique_ptr<DeviceManager> manager_;
};

TEST_F(Manager, GivesTheFirstDevicesAndRemembersWhatThePluginSaid) {
  const auto a = pod(test::pod("a").gpus(3));
  EXPECT_EQ(allocate(a).kind, Kind::Granted);
  EXPECT_THAT(held("a"), ElementsAre("g0", "g1", "g2"));
  EXPECT_THAT(manager_->edits_of("uid-a", "main").envs, ElementsAre(Pair("DEVICES", "g0,g1,g2")));
  EXPECT_EQ(saved().holdings, manager_->ledger().all());
  EXPECT_EQ(prepare(a).kind, Kind::Granted);
  EXPECT_THAT(gpus_->allocated, SizeIs(1));

  EXPECT_EQ(allocate(pod(test::pod("b").gpus(2))).kind, Kind::Granted);
  EXPECT_THAT(held("b"), ElementsAre("g3", "g4"));
}

TEST_F(Manager, GroupsIdsByNumaNode) {
  gpus_->set_devices({{.id = "x", .numa_nodes = {}},
                      {.id = "y", .numa_nodes = {0, 1}},
                      {.id = "z", .numa_nodes = {1}}});
  run();
  ASSERT_EQ(allocate(pod(test::pod("a").gpus(3))).kind, Kind::Granted);
  const DevicesByNuma want{{-1, {"x"}}, {0, {"y"}}, {1, {"y", "z"}}};
  EXPECT_EQ(manager_->ledger().find("uid-a", "main", kGpu)->devices, want);
}

TEST_F(Manager, TheSchedulersChoiceBindsAndNamesWhatIsMissing) {
  ASSERT_EQ(allocate(pod(test::pod("a").gpus(2).annotation("berth.dev/gpu-indices", "5,2"))).kind,
            Kind::Granted);
  EXPECT_THAT(held("a"), ElementsAre("g2", "g5"));
  const auto verdict =
      allocate(pod(test::pod("b").gpus(2).annotation("berth.dev/gpu-indices", "5,9")));
  EXPECT_EQ(verdict.kind, Kind::Rejected);
  EXPECT_EQ(verdict.message,
            "requested number of devices unavailable for nvidia.com/gpu. Requested: 2, Available: "
            "0; of the chosen devices g5 is held, gpu 9 is not healthy");
}

TEST_F(Manager, AnotherResourceIsNotItsBusiness) {
  EXPECT_EQ(allocate(pod(test::pod("a").extended("example.com/license", "3"))).kind, Kind::Granted);
  EXPECT_TRUE(manager_->ledger().empty());
}

TEST_F(Manager, AsksThePluginWhichItPrefersWhereThereIsAChoice) {
  gpus_->options.get_preferred_allocation_available = true;
  plug(gpus_, kGpu);
  gpus_->prefer = [](const auto&) { return std::vector<std::string>{"g7", "g6"}; };
  ASSERT_EQ(allocate(pod(test::pod("a").gpus(2))).kind, Kind::Granted);
  EXPECT_THAT(held("a"), ElementsAre("g6", "g7"));
  ASSERT_THAT(gpus_->questions, SizeIs(1));
  EXPECT_EQ(gpus_->questions[0].allocation_size, 2);
  EXPECT_THAT(gpus_->questions[0].available, SizeIs(8));

  ASSERT_EQ(allocate(pod(test::pod("b").gpus(6))).kind, Kind::Granted);
  EXPECT_THAT(gpus_->questions, SizeIs(1)) << "all that is left is no choice";
}

TEST_F(Manager, AdviceThatFailsIsPassedOver) {
  gpus_->options.get_preferred_allocation_available = true;
  plug(gpus_, kGpu);
  gpus_->prefer = [](const auto&) -> Result<std::vector<std::string>> {
    return fail(Code::Internal, "a GPU has fallen off the bus");
  };
  EXPECT_EQ(allocate(pod(test::pod("a").gpus(2))).kind, Kind::Granted);
  EXPECT_THAT(held("a"), ElementsAre("g0", "g1"));
}

TEST_F(Manager, AllOrNothing) {
  const auto a = pod(test::pod("a").gpus(6).container("second").gpus(3));
  const auto verdict = allocate(a);
  EXPECT_EQ(verdict.kind, Kind::Rejected);
  EXPECT_THAT(verdict.message, HasSubstr("Requested: 3, Available: 2"));
  EXPECT_TRUE(manager_->ledger().empty());
  EXPECT_THAT(saved().holdings, IsEmpty());
}

TEST_F(Manager, InitContainersLendTheirDevicesAndSidecarsKeepThem) {
  ASSERT_EQ(allocate(pod(test::pod("a")
                             .gpus(2)
                             .init_container("fetch")
                             .gpus(3)
                             .sidecar("watch")
                             .gpus(1)
                             .init_container("unpack")
                             .gpus(2)))
                .kind,
            Kind::Granted);
  EXPECT_THAT(held("a", "fetch"), ElementsAre("g0", "g1", "g2"));
  EXPECT_THAT(held("a", "watch"), ElementsAre("g0"));
  EXPECT_THAT(held("a", "unpack"), ElementsAre("g1", "g2"));
  EXPECT_THAT(held("a", "main"), ElementsAre("g1", "g2"));
  EXPECT_THAT(manager_->ledger().held(kGpu), SizeIs(3));
  manager_->release_init_surplus(
      *pod(test::pod("a").gpus(2).init_container("fetch").gpus(3).init_container("unpack")));
  EXPECT_THAT(held("a", "fetch"), IsEmpty());
  EXPECT_THAT(manager_->ledger().held(kGpu), SizeIs(3));
}

TEST_F(Manager, WhatIsHeldIsNotAskedForAgain) {
  const auto a = pod(test::pod("a").gpus(2));
  ASSERT_EQ(allocate(a).kind, Kind::Granted);
  ASSERT_EQ(allocate(a).kind, Kind::Granted);
  EXPECT_THAT(gpus_->allocated, SizeIs(1));
  const auto verdict = allocate(pod(test::pod("a").gpus(3)));
  EXPECT_EQ(verdict.kind, Kind::Rejected);
  EXPECT_EQ(verdict.message, "pod \"uid-a\" container \"main\" changed request for resource "
                             "\"nvidia.com/gpu\" from 2 to 3");
  EXPECT_THAT(held("a"), SizeIs(2)) << "what it had it keeps";
}

TEST_F(Manager, TheRunningScopeLeavesInitContainersOut) {
  const auto a = pod(test::pod("a").gpus(1).init_container("fetch").gpus(8));
  ASSERT_EQ(allocate(a, AllocationScope::Running).kind, Kind::Granted);
  EXPECT_THAT(held("a", "fetch"), IsEmpty());
  EXPECT_THAT(held("a"), SizeIs(1));
}

TEST_F(Manager, ReleaseMakesRoomAndTells) {
  ASSERT_EQ(allocate(pod(test::pod("a").gpus(8))).kind, Kind::Granted);
  const int before = changes_;
  manager_->release("uid-a");
  run();
  EXPECT_EQ(changes_, before + 1);
  EXPECT_THAT(saved().holdings, IsEmpty());
  EXPECT_EQ(allocate(pod(test::pod("b").gpus(8))).kind, Kind::Granted);
}

TEST_F(Manager, AReleasedPodGetsNothingAnyMore) {
  std::optional<AllocationVerdict> verdict;
  manager_->allocate(pod(test::pod("a").gpus(2)), AllocationScope::Whole,
                     [&](AllocationVerdict said) { verdict = std::move(said); });
  manager_->release("uid-a");
  run();
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->kind, Kind::Rejected);
  EXPECT_EQ(verdict->message, "the pod is being deleted");
  EXPECT_TRUE(manager_->ledger().empty());
}

TEST_F(Manager, ADyingHolderIsWaitedForIfThatWouldDo) {
  ASSERT_EQ(allocate(pod(test::pod("a").gpus(5))).kind, Kind::Granted);
  EXPECT_EQ(allocate(pod(test::pod("b").gpus(4))).kind, Kind::Rejected);
  dying_.insert("uid-a");
  EXPECT_EQ(allocate(pod(test::pod("b").gpus(4))).kind, Kind::Wait);
  EXPECT_EQ(allocate(pod(test::pod("c").gpus(9))).kind, Kind::Rejected);
  gone_.insert("uid-a");
  EXPECT_EQ(allocate(pod(test::pod("b").gpus(4))).kind, Kind::Granted);
  EXPECT_THAT(held("a"), IsEmpty());
}

TEST_F(Manager, OfTheChosenDevicesEachMustComeFree) {
  ASSERT_EQ(allocate(pod(test::pod("a").gpus(1).annotation("berth.dev/gpu-indices", "0"))).kind,
            Kind::Granted);
  ASSERT_EQ(allocate(pod(test::pod("b").gpus(1).annotation("berth.dev/gpu-indices", "1"))).kind,
            Kind::Granted);
  const auto both = pod(test::pod("c").gpus(2).annotation("berth.dev/gpu-indices", "0,1"));
  dying_.insert("uid-a");
  EXPECT_EQ(allocate(both).kind, Kind::Rejected);
  dying_.insert("uid-b");
  EXPECT_EQ(allocate(both).kind, Kind::Wait);
}

TEST_F(Manager, WithoutItsPluginAPodWaitsAtStartAndIsRejectedLater) {
  disk_ = {};
  start();
  const auto a = pod(test::pod("a").gpus(1));
  const auto verdict = allocate(a);
  EXPECT_EQ(verdict.kind, Kind::Wait);
  EXPECT_EQ(verdict.message, "cannot allocate unregistered device nvidia.com/gpu");
  run(Duration::minutes(6));
  EXPECT_EQ(allocate(a).kind, Kind::Rejected);
  plug(gpus_, kGpu);
  EXPECT_EQ(allocate(a).kind, Kind::Granted);
}

TEST_F(Manager, APluginThatIsGoneForAWhileIsWaitedFor) {
  gpus_->die();
  run();
  const auto a = pod(test::pod("a").gpus(1));
  auto verdict = allocate(a);
  EXPECT_EQ(verdict.kind, Kind::Wait);
  EXPECT_EQ(verdict.message,
            "no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu");
  EXPECT_EQ(manager_->accounting().at(kGpu), (DeviceCount{8, 0}));
  run(Duration::minutes(10));
  EXPECT_THAT(manager_->accounting(), IsEmpty());
  EXPECT_THAT(manager_->departed(), ElementsAre(kGpu));
  verdict = allocate(a);
  EXPECT_EQ(verdict.kind, Kind::Rejected);
  EXPECT_EQ(verdict.message, "cannot allocate unregistered device nvidia.com/gpu");
}

TEST_F(Manager, SickDevicesAreNotGiven) {
  for (const char* id : {"g0", "g1", "g2", "g3", "g4", "g5"}) {
    gpus_->set_health(id, deviceplugin::kUnhealthy);
  }
  run();
  EXPECT_THAT(manager_->unhealthy(kGpu), SizeIs(6));
  EXPECT_EQ(manager_->health(kGpu, "g0"), DeviceHealth::Unhealthy);
  EXPECT_EQ(allocate(pod(test::pod("a").gpus(3))).message,
            "requested number of devices unavailable for nvidia.com/gpu. Requested: 3, Available: "
            "2");
  EXPECT_EQ(allocate(pod(test::pod("a").gpus(2))).kind, Kind::Granted);
  EXPECT_THAT(held("a"), ElementsAre("g6", "g7"));
}

TEST_F(Manager, ADeviceThatFailsWhileThePluginIsAskedIsNotGiven) {
  gpus_->give = [this](const auto& ids) -> Result<std::vector<FakeDevicePlugin::Response>> {
    if (ids.front() == "g0") {
      gpus_->set_health("g0", deviceplugin::kUnhealthy);
    }
    return std::vector<FakeDevicePlugin::Response>(1);
  };
  EXPECT_EQ(allocate(pod(test::pod("a").gpus(1))).kind, Kind::Granted);
  EXPECT_THAT(held("a"), ElementsAre("g1"));
}

TEST_F(Manager, APluginThatAnswersNothingIsGivenUpOnInTime) {
  gpus_->silent = true;
  const auto verdict = allocate(pod(test::pod("a").gpus(1)));
  EXPECT_EQ(verdict.kind, Kind::Wait);
  EXPECT_EQ(verdict.message, "the device plugin does not answer");
  EXPECT_TRUE(manager_->ledger().empty());
  gpus_->silent = false;
  EXPECT_EQ(allocate(pod(test::pod("b").gpus(1))).kind, Kind::Granted);
}

TEST_F(Manager, AdviceThatNeverComesIsPassedOver) {
  gpus_->options.get_preferred_allocation_available = true;
  plug(gpus_, kGpu);
  gpus_->hides_preference = true;
  EXPECT_EQ(allocate(pod(test::pod("a").gpus(2))).kind, Kind::Granted);
  EXPECT_THAT(held("a"), ElementsAre("g0", "g1"));
}

TEST_F(Manager, AnAnswerThatComesTooLateGivesNothing) {
  gpus_->takes = Duration::seconds(45);
  const auto verdict = allocate(pod(test::pod("a").gpus(8)));
  EXPECT_EQ(verdict.kind, Kind::Wait);
  gpus_->takes = Duration();
  EXPECT_EQ(allocate(pod(test::pod("b").gpus(8))).kind, Kind::Granted);
  run(Duration::minutes(2));
  EXPECT_THAT(held("a"), IsEmpty());
  EXPECT_THAT(held("b"), SizeIs(8));
}

TEST_F(Manager, APluginThatDiesWhileItIsAskedIsWaitedFor) {
  gpus_->takes = Duration::seconds(5);
  std::optional<AllocationVerdict> verdict;
  manager_->allocate(pod(test::pod("a").gpus(2)), AllocationScope::Whole,
                     [&](AllocationVerdict said) { verdict = std::move(said); });
  run(Duration::seconds(1));
  gpus_->die();
  run(Duration::minutes(1));
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->kind, Kind::Wait);
  EXPECT_TRUE(manager_->ledger().empty());
  EXPECT_THAT(saved().holdings, IsEmpty());
}

TEST_F(Manager, ADeviceThatDisappearsStaysWithItsPodAndLeavesTheCapacity) {
  ASSERT_EQ(allocate(pod(test::pod("a").gpus(8))).kind, Kind::Granted);
  gpus_->set_devices(devices("g", 6));
  run();
  EXPECT_EQ(manager_->accounting().at(kGpu), (DeviceCount{6, 6}));
  EXPECT_THAT(held("a"), SizeIs(8));
  EXPECT_EQ(manager_->health(kGpu, "g7"), DeviceHealth::Healthy) << "as the kubelet has it";
  EXPECT_EQ(prepare(pod(test::pod("a").gpus(8))).kind, Kind::Granted);
  EXPECT_EQ(allocate(pod(test::pod("b").gpus(1))).kind, Kind::Rejected);
  manager_->release("uid-a");
  EXPECT_EQ(allocate(pod(test::pod("b").gpus(6))).kind, Kind::Granted);
  EXPECT_EQ(allocate(pod(test::pod("c").gpus(1))).kind, Kind::Rejected) << "what is gone is gone";
}

TEST_F(Manager, APluginsRefusalAndAnEmptyListAreRejections) {
  gpus_->give = [](const auto&) -> Result<std::vector<FakeDevicePlugin::Response>> {
    return fail(Code::Invalid, "no such device");
  };
  auto verdict = allocate(pod(test::pod("a").gpus(1)));
  EXPECT_EQ(verdict.kind, Kind::Rejected);
  EXPECT_EQ(verdict.message, "no such device");
  gpus_->give = [](const auto&) { return std::vector<FakeDevicePlugin::Response>(); };
  verdict = allocate(pod(test::pod("a").gpus(1)));
  EXPECT_EQ(verdict.kind, Kind::Rejected);
  EXPECT_EQ(verdict.message, "no containers return in allocation response []");
}

TEST_F(Manager, APluginMayHaveNothingToSayOfItsDevices) {
  gpus_->give = [](const auto&) { return std::vector<FakeDevicePlugin::Response>(1); };
  const auto a = pod(test::pod("a").gpus(1));
  ASSERT_EQ(allocate(a).kind, Kind::Granted);
  EXPECT_EQ(prepare(a).kind, Kind::Granted);
  EXPECT_THAT(gpus_->allocated, SizeIs(1)) << "it has answered, and is not asked again";
}

TEST_F(Manager, ThePluginIsToldBeforeEachStartIfItWants) {
  gpus_->options.pre_start_required = true;
  plug(gpus_, kGpu);
  const auto a = pod(test::pod("a").gpus(2));
  ASSERT_EQ(allocate(a).kind, Kind::Granted);
  EXPECT_EQ(prepare(a).kind, Kind::Granted);
  EXPECT_THAT(gpus_->started, ElementsAre(ElementsAre("g0", "g1")));
  gpus_->pre_start_answer = fail(Code::Internal, "cannot reset");
  const auto verdict = prepare(a);
  EXPECT_EQ(verdict.kind, Kind::Wait);
  EXPECT_EQ(verdict.message, "device plugin PreStartContainer rpc failed with err: cannot reset");
}

TEST_F(Manager, AContainerWithoutItsDevicesIsNotStarted) {
  const auto verdict = prepare(pod(test::pod("a").gpus(2)));
  EXPECT_EQ(verdict.kind, Kind::Wait);
  EXPECT_EQ(verdict.message, "no devices found allocated in local cache for pod "
                             "a_default(uid-a), container main, resource nvidia.com/gpu");
}

TEST_F(Manager, ARestartRemembersEverything) {
  ASSERT_EQ(allocate(pod(test::pod("a").gpus(2))).kind, Kind::Granted);
  const auto before = manager_->ledger().all();
  start();
  EXPECT_EQ(manager_->ledger().all(), before);
  EXPECT_FALSE(manager_->complete());
  EXPECT_EQ(manager_->accounting().at(kGpu), (DeviceCount{0, 0}));
  EXPECT_EQ(manager_->edits_of("uid-a", "main").envs.at("DEVICES"), "g0,g1");
  // In the same boot its containers may start again while the plugin is away.
  EXPECT_EQ(prepare(pod(test::pod("a").gpus(2))).kind, Kind::Granted);
  plug(gpus_, kGpu);
  EXPECT_TRUE(manager_->complete());
  EXPECT_EQ(allocate(pod(test::pod("b").gpus(6))).kind, Kind::Granted);
}

TEST_F(Manager, AfterARebootDevicesAreTrustedOnlyOnceThePluginIsBack) {
  const auto a = pod(test::pod("a").gpus(2));
  ASSERT_EQ(allocate(a).kind, Kind::Granted);
  boot_ = "boot-2";
  start();
  auto verdict = prepare(a);
  EXPECT_EQ(verdict.kind, Kind::Wait);
  EXPECT_EQ(verdict.message,
            "endpoint not found in cache for a registered resource: nvidia.com/gpu");
  gpus_->set_health("g1", deviceplugin::kUnhealthy);
  plug(gpus_, kGpu);
  verdict = prepare(a);
  EXPECT_EQ(verdict.kind, Kind::Wait) << "plugins find devices one by one after a boot";
  EXPECT_EQ(verdict.message, "previously allocated devices are no longer healthy; cannot allocate "
                             "unhealthy devices nvidia.com/gpu");
  gpus_->set_health("g1", deviceplugin::kHealthy);
  run();
  EXPECT_EQ(prepare(a).kind, Kind::Granted);
  // Confirmed: what becomes of a device now is as in any other pod.
  gpus_->set_health("g1", deviceplugin::kUnhealthy);
  run();
  EXPECT_EQ(prepare(a).kind, Kind::Granted);
}

TEST_F(Manager, WhatABootDidNotProveARestartDoesNotProve) {
  const auto a = pod(test::pod("a").gpus(2));
  ASSERT_EQ(allocate(a).kind, Kind::Granted);
  boot_ = "boot-2";
  start();
  plug(std::make_shared<FakeDevicePlugin>(loop_, devices("n", 2)), kNic); // writes the checkpoint
  ASSERT_EQ(saved().boot_id, "boot-2");
  start();
  EXPECT_EQ(prepare(a).kind, Kind::Wait);
  plug(gpus_, kGpu);
  EXPECT_EQ(prepare(a).kind, Kind::Granted);
  EXPECT_THAT(saved().unproven, IsEmpty());
}

TEST_F(Manager, APodIsProvenOnceAllOfItsContainersAre) {
  const auto nics = std::make_shared<FakeDevicePlugin>(loop_, devices("n", 2));
  plug(nics, kNic);
  const auto a = pod(test::pod("a").gpus(1).container("second").extended(kNic, "1"));
  ASSERT_EQ(allocate(a).kind, Kind::Granted);
  boot_ = "boot-2";
  start();
  plug(gpus_, kGpu);
  EXPECT_EQ(prepare(a).kind, Kind::Granted);
  EXPECT_THAT(saved().unproven, ElementsAre("uid-a")) << "its NIC has not come back";
  plug(nics, kNic);
  EXPECT_EQ(prepare(a).kind, Kind::Granted);
  EXPECT_THAT(saved().unproven, IsEmpty());
}

TEST_F(Manager, AnAdoptedHolderIsAskedForOnceBeforeItsNextStart) {
  manager_->adopt("uid-a", "main", {{kGpu, {"g3"}}}, Found::MayRun);
  EXPECT_THAT(held("a"), ElementsAre("g3"));
  EXPECT_EQ(saved().holdings, manager_->ledger().all());
  EXPECT_THAT(manager_->edits_of("uid-a", "main").envs, IsEmpty());
  const auto a = pod(test::pod("a").gpus(1));
  EXPECT_EQ(prepare(a).kind, Kind::Granted);
  EXPECT_EQ(prepare(a).kind, Kind::Granted);
  EXPECT_THAT(gpus_->allocated, ElementsAre(ElementsAre("g3")));
  EXPECT_EQ(manager_->edits_of("uid-a", "main").envs.at("DEVICES"), "g3");
}

TEST_F(Manager, AnAdoptedHolderStillLacksItsEditsAfterARestart) {
  manager_->adopt("uid-a", "main", {{kGpu, {"g3"}}}, Found::MayRun);
  start();
  const auto a = pod(test::pod("a").gpus(1));
  EXPECT_EQ(prepare(a).kind, Kind::Wait);
  plug(gpus_, kGpu);
  EXPECT_EQ(prepare(a).kind, Kind::Granted);
  EXPECT_EQ(manager_->edits_of("uid-a", "main").envs.at("DEVICES"), "g3");
}

TEST_F(Manager, WhoRunsIsBelievedBeforeTheRecord) {
  ASSERT_EQ(allocate(pod(test::pod("a").gpus(2))).kind, Kind::Granted);
  ASSERT_EQ(allocate(pod(test::pod("b").gpus(2))).kind, Kind::Granted);
  manager_->adopt("uid-c", "main", {{kGpu, {"g1", "g5"}}}, Found::MayRun);
  EXPECT_THAT(held("c"), ElementsAre("g1", "g5"));
  EXPECT_THAT(held("a"), IsEmpty());
  EXPECT_THAT(held("b"), ElementsAre("g2", "g3"));
  // Its own record may be out of date as well.
  manager_->adopt("uid-b", "main", {{kGpu, {"g6"}}}, Found::MayRun);
  EXPECT_THAT(held("b"), ElementsAre("g6"));
  // What agrees stays as it is, edits and all.
  ASSERT_EQ(allocate(pod(test::pod("d").gpus(1))).kind, Kind::Granted);
  manager_->adopt("uid-d", "main", {{kGpu, held("d")}}, Found::MayRun);
  EXPECT_THAT(manager_->edits_of("uid-d", "main").envs, SizeIs(1));
}

TEST_F(Manager, WhoHasEndedGetsWhatIsLeft) {
  ASSERT_EQ(allocate(pod(test::pod("a").gpus(2))).kind, Kind::Granted);
  manager_->adopt("uid-b", "main", {{kGpu, {"g1"}}}, Found::Ended);
  EXPECT_THAT(held("b"), IsEmpty());
  manager_->adopt("uid-b", "main", {{kGpu, {"g4"}}}, Found::Ended);
  EXPECT_THAT(held("b"), ElementsAre("g4"));
  manager_->adopt("uid-a", "main", {{kGpu, {"g7"}}}, Found::Ended);
  EXPECT_THAT(held("a"), ElementsAre("g0", "g1"));
}

TEST_F(Manager, PodsThatAreGoneAreForgottenWhenAsked) {
  ASSERT_EQ(allocate(pod(test::pod("a").gpus(2))).kind, Kind::Granted);
  ASSERT_EQ(allocate(pod(test::pod("b").gpus(2))).kind, Kind::Granted);
  manager_->forget_gone();
  EXPECT_THAT(manager_->ledger().pods(), SizeIs(2));
  gone_.insert("uid-a");
  manager_->forget_gone();
  EXPECT_THAT(manager_->ledger().pods(), ElementsAre("uid-b"));
  EXPECT_EQ(saved().holdings, manager_->ledger().all());
}

TEST_F(Manager, EditsOfTwoResourcesAreMerged) {
  const auto nics = std::make_shared<FakeDevicePlugin>(loop_, devices("n", 2));
  plug(nics, kNic);
  ASSERT_EQ(allocate(pod(test::pod("a").gpus(1).extended(kNic, "1"))).kind, Kind::Granted);
  EXPECT_THAT(held("a", "main", kNic), ElementsAre("n0"));
  // "example.com/nic" comes before "nvidia.com/gpu": the first wins.
  EXPECT_THAT(manager_->edits_of("uid-a", "main").envs, ElementsAre(Pair("DEVICES", "n0")));
}

TEST_F(Manager, ADestroyedManagerCallsNobodyBack) {
  bool called = false;
  manager_->allocate(pod(test::pod("a").gpus(1)), AllocationScope::Whole,
                     [&](const AllocationVerdict&) { called = true; });
  manager_.reset();
  const int before = changes_;
  run(Duration::minutes(10));
  EXPECT_FALSE(called);
  EXPECT_EQ(changes_, before);
}

// Random lives of pods on eight GPUs: nobody ever has what another has, what is said to be free can
// be had, and the disk knows it.
class Lives : public Manager, public ::testing::WithParamInterface<int> {};

TEST_P(Lives, NobodyHasWhatAnotherHas) {
  Rng rng(static_cast<std::uint64_t>(GetParam()));
  std::map<std::string, std::set<std::string>> owned; // by pod: the plain reference
  std::set<std::string> sick;
  for (int turn = 0; turn < 200; ++turn) {
    const std::string name = fmt::format("p{}", rng.below(6));
    switch (rng.below(6)) {
    case 0:
    case 1:
    case 2: {
      if (owned.contains(name)) {
        break;
      }
      const auto wanted = static_cast<int>(rng.between(1, 4));
      std::set<std::string> taken = sick;
      for (const auto& [other, ids] : owned) {
        taken.insert(ids.begin(), ids.end());
      }
      const auto verdict = allocate(pod(test::pod(name).gpus(wanted)));
      ASSERT_EQ(verdict.kind == Kind::Granted, static_cast<int>(8 - taken.size()) >= wanted)
          << verdict.message;
      if (verdict.kind == Kind::Granted) {
        const auto ids = held(name);
        ASSERT_THAT(ids, SizeIs(wanted));
        for (const std::string& id : ids) {
          ASSERT_FALSE(taken.contains(id)) << id;
        }
        owned[name] = {ids.begin(), ids.end()};
      }
      break;
    }
    case 3:
      manager_->release("uid-" + name);
      owned.erase(name);
      break;
    case 4: {
      const std::string id = fmt::format("g{}", rng.below(8));
      const bool heal = sick.erase(id) > 0;
      if (!heal) {
        sick.insert(id);
      }
      gpus_->set_health(id, heal ? deviceplugin::kHealthy : deviceplugin::kUnhealthy);
      run();
      break;
    }
    default:
      start();
      plug(gpus_, kGpu);
      break;
    }
    for (const auto& [pod_name, ids] : owned) {
      const auto kept = held(pod_name);
      ASSERT_EQ(std::set<std::string>(kept.begin(), kept.end()), ids);
    }
    ASSERT_THAT(manager_->ledger().pods(), SizeIs(owned.size()));
    ASSERT_EQ(saved().holdings, manager_->ledger().all());
    ASSERT_EQ(manager_->accounting().at(kGpu),
              (DeviceCount{8, 8 - static_cast<std::int64_t>(sick.size())}));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Lives, ::testing::Range(1, 41));

} // namespace
} // namespace berth::node
