// Parts of GPUs in the device manager: what is given, refused, waited for and remembered.
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
#include "berth/node/device_manager.h"
#include "berth/testing/builders.h"
#include "berth/testing/fake_device_plugin.h"

namespace berth::node {
namespace {

using test::FakeDevicePlugin;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using Kind = AllocationVerdict::Kind;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// A manager with a plugin of four GPUs of 16 GiB, "g0" to "g3".
class Parts : public ::testing::Test {
 protected:
  Parts() {
    set_log_level(LogLevel::Off);
    start();
  }
  ~Parts() override { set_log_level(LogLevel::Warn); }

  void start() {
    manager_ = std::make_unique<DeviceManager>(
        loop_, disk_,
        DeviceManagerOptions{
            .boot_id = "boot-1",
            .needs_plugin = [](std::string_view resource) { return resource == kGpu; },
            .gpu_of_index = [](int index) -> std::optional<std::string> {
              return index < 4 ? std::optional(fmt::format("g{}", index)) : std::nullopt;
            },
            .index_of_gpu = [](const std::string& id) { return id.back() - '0'; },
            .shareable =
                [] {
                  return model::ShareableGpus{
                      .gpus = 4, .memory = 16 * kGiB, .memory_unit = kGiB, .model = "T4"};
                },
            .holder_state =
                [this](std::string_view uid) {
                  return gone_.contains(uid)    ? HolderState::Gone
                         : dying_.contains(uid) ? HolderState::Dying
                                                : HolderState::Live;
                },
            .on_change = [] {}});
    manager_->register_plugin({.resource_name = kGpu, .endpoint = gpus_},
                              [](const Result<void>& result) { EXPECT_TRUE(result); });
    run();
  }
  void run(Duration span = Duration::millis(1)) { loop_.run_until(loop_.now() + span); }

  static test::PodBuilder asks(std::string_view name, std::string_view key, std::string_view value,
                               std::string_view chosen = "") {
    test::PodBuilder builder(name);
    builder.annotation(key, value);
    if (!chosen.empty()) {
      builder.annotation(model::kGpuIndex, chosen);
    }
    return builder;
  }
  static std::shared_ptr<const model::Pod> pod(test::PodBuilder builder) {
    const std::string uid = "uid-" + std::string(builder.build()->meta.name);
    return builder.edit([&](auto& document) { api::object_at(document, "metadata")["uid"] = uid; })
        .build();
  }
  AllocationVerdict allocate(const std::shared_ptr<const model::Pod>& of) {
    std::optional<AllocationVerdict> verdict;
    manager_->allocate(of, AllocationScope::Whole,
                       [&](AllocationVerdict said) { verdict = std::move(said); });
    run(Duration::minutes(1));
    EXPECT_TRUE(verdict) << "no answer";
    return verdict.value_or(AllocationVerdict());
  }
  AllocationVerdict allocate(const test::PodBuilder& builder) { return allocate(pod(builder)); }
  std::vector<std::string> held(std::string_view name, std::string_view container = "main") const {
    const Holding* holding = manager_->ledger().find("uid-" + std::string(name), container, kGpu);
    return holding ? holding->ids() : std::vector<std::string>();
  }

  VirtualLoop loop_{TimePoint::from_unix_seconds(1'700'000'000)};
  MemoryCheckpointStore disk_;
  std::set<std::string, std::less<>> dying_;
  std::set<std::string, std::less<>> gone_;
  std::shared_ptr<FakeDevicePlugin> gpus_ = std::make_shared<FakeDevicePlugin>(
      loop_,
      std::vector<deviceplugin::Device>{{.id = "g0"}, {.id = "g1"}, {.id = "g2"}, {.id = "g3"}});
  std::unique_ptr<DeviceManager> manager_;
};

TEST_F(Parts, AContainerGetsTheChosenGpuAsIfItWereWhole) {
  EXPECT_EQ(allocate(asks("a", model::kGpuMilli, "500", "2")).kind, Kind::Granted);
  EXPECT_THAT(held("a"), ElementsAre("g2"));
  EXPECT_THAT(gpus_->allocated, ElementsAre(ElementsAre("g2")));
  EXPECT_THAT(manager_->edits_of("uid-a", "main").envs, ElementsAre(Pair("DEVICES", "g2")));
  EXPECT_EQ(allocate(asks("b", model::kGpuFraction, "0.5", "2")).kind, Kind::Granted);
  EXPECT_THAT(manager_->edits_of("uid-b", "main").envs,
              ElementsAre(Pair("DEVICES", "g2"), Pair("GPU_PORTION", "0.5"),
                          Pair("RUNAI_NUM_OF_GPUS", "0.5")));
}

TEST_F(Parts, SeveralGpusAreSeveralParts) {
  auto builder = asks("a", model::kGpuMilli, "300", "1-3");
  builder.annotation(model::kGpuCount, "2");
  EXPECT_EQ(allocate(builder).kind, Kind::Granted);
  EXPECT_THAT(held("a"), ElementsAre("g1", "g3"));
  EXPECT_EQ(allocate(asks("b", model::kGpuMilli, "701", "3")).kind, Kind::Rejected);
}

TEST_F(Parts, AStaleChoiceIsRefusedWithWhatIsLeft) {
  ASSERT_EQ(allocate(asks("a", model::kGpuMilli, "700", "1")).kind, Kind::Granted);
  const auto verdict = allocate(asks("b", model::kGpuMilli, "500", "1"));
  EXPECT_EQ(verdict.kind, Kind::Rejected);
  EXPECT_EQ(verdict.message,
            "requested number of devices unavailable for nvidia.com/gpu. Requested: 1, Available: "
            "0; of the chosen devices g1 has 300 thousandths left for 500 thousandths");
  EXPECT_THAT(allocate(asks("c", model::kGpuMemoryMib, "20480", "0")).message,
              HasSubstr("g0 has 16384 MiB left for 20480 MiB"));
  EXPECT_THAT(allocate(asks("d", model::kGpuMilli, "100", "7")).message,
              HasSubstr("gpu 7 is not healthy"));
}

TEST_F(Parts, WholeAndInPartsExcludeEachOther) {
  ASSERT_EQ(allocate(asks("a", model::kGpuMilli, "100", "1")).kind, Kind::Granted);
  test::PodBuilder whole("b");
  whole.gpus(1).annotation(model::kGpuIndicesAnnotation, "1");
  EXPECT_THAT(allocate(whole).message, HasSubstr("of the chosen devices g1 is held"));
  ASSERT_EQ(allocate(test::pod("c").gpus(3)).kind, Kind::Granted);
  EXPECT_THAT(held("c"), ElementsAre("g0", "g2", "g3"));
  EXPECT_THAT(allocate(asks("d", model::kGpuMilli, "100", "0")).message,
              HasSubstr("g0 is held whole by another pod"));
}

TEST_F(Parts, OfGpusNobodyChoseTheFullestThatWillDoIsTaken) {
  ASSERT_EQ(allocate(asks("a", model::kGpuMilli, "300", "1")).kind, Kind::Granted);
  ASSERT_EQ(allocate(asks("b", model::kGpuMilli, "600", "2")).kind, Kind::Granted);
  ASSERT_EQ(allocate(asks("c", model::kGpuMilli, "500")).kind, Kind::Granted);
  EXPECT_THAT(held("c"), ElementsAre("g1"));
  ASSERT_EQ(allocate(asks("d", model::kGpuMilli, "500")).kind, Kind::Granted);
  EXPECT_THAT(held("d"), ElementsAre("g0"));
  EXPECT_THAT(gpus_->questions, IsEmpty()) << "there is nothing to ask the plugin";
}

TEST_F(Parts, AllContainersOfAPodHaveThemOfOneGpu) {
  auto builder = test::pod("a").extended(model::kAliyunGpuMem, "6");
  builder.container("second").extended(model::kAliyunGpuMem, "4").container("third");
  EXPECT_EQ(allocate(builder).kind, Kind::Granted);
  EXPECT_EQ(held("a"), held("a", "second"));
  EXPECT_THAT(held("a", "third"), IsEmpty());
  EXPECT_THAT(manager_->edits_of("uid-a", "second").envs,
              Contains(Pair("ALIYUN_COM_GPU_MEM_CONTAINER", "4")));
  auto next = asks("b", model::kGpuIndex, "0").extended(model::kAliyunGpuMem, "7");
  EXPECT_THAT(allocate(next).message, HasSubstr("6144 MiB left for 7168 MiB"));
}

TEST_F(Parts, WhatADyingPodHasIsWaitedForIfThatWouldDo) {
  ASSERT_EQ(allocate(asks("a", model::kGpuMilli, "600", "1")).kind, Kind::Granted);
  ASSERT_EQ(allocate(asks("b", model::kGpuMilli, "300", "1")).kind, Kind::Granted);
  dying_ = {"uid-b"};
  EXPECT_EQ(allocate(asks("c", model::kGpuMilli, "400", "1")).kind, Kind::Wait);
  EXPECT_EQ(allocate(asks("d", model::kGpuMilli, "500", "1")).kind, Kind::Rejected);
  test::PodBuilder whole("e");
  whole.gpus(1).annotation(model::kGpuIndicesAnnotation, "1");
  EXPECT_EQ(allocate(whole).kind, Kind::Rejected) << "one who holds a part stays";
  dying_.insert("uid-a");
  EXPECT_EQ(allocate(whole).kind, Kind::Wait);
}

TEST_F(Parts, WhatCannotBeMeantIsRefused) {
  EXPECT_THAT(allocate(asks("a", model::kGpuFraction, "1.5")).message,
              HasSubstr("annotation gpu-fraction must be a number above 0 and below 1"));
  auto builder = asks("b", model::kGpuFraction, "0.5");
  builder.annotation(model::kGpuFractionContainer, "nobody");
  EXPECT_THAT(allocate(builder).message, HasSubstr("names container \"nobody\""));
}

TEST_F(Parts, ARestartRemembersThem) {
  ASSERT_EQ(allocate(asks("a", model::kGpuMilli, "700", "1")).kind, Kind::Granted);
  const auto before = manager_->ledger().all();
  start();
  EXPECT_EQ(manager_->ledger().all(), before);
  EXPECT_EQ(allocate(asks("b", model::kGpuMilli, "400", "1")).kind, Kind::Rejected);
  EXPECT_EQ(allocate(asks("c", model::kGpuMilli, "300", "1")).kind, Kind::Granted);
}

TEST_F(Parts, ARunningContainersPartIsBelievedBeforeTheRecord) {
  ASSERT_EQ(allocate(asks("a", model::kGpuMilli, "700", "1")).kind, Kind::Granted);
  ASSERT_EQ(allocate(asks("b", model::kGpuMilli, "100", "1")).kind, Kind::Granted);
  manager_->adopt("uid-c", "main", {{kGpu, {"g1"}}}, Found::MayRun,
                  GpuParts{.each = {.milli = 500}});
  EXPECT_THAT(held("a"), IsEmpty()) << "had to make way";
  EXPECT_THAT(held("b"), ElementsAre("g1")) << "fits beside it";
  EXPECT_THAT(held("c"), ElementsAre("g1"));
  manager_->adopt("uid-d", "main", {{kGpu, {"g1"}}}, Found::Ended,
                  GpuParts{.each = {.milli = 500}});
  EXPECT_THAT(held("d"), IsEmpty()) << "who has ended gets what is left";
}

TEST_F(Parts, AnAdoptedContainerIsToldOfItsPartAgain) {
  const auto a = pod(asks("a", model::kGpuFraction, "0.5", "1"));
  manager_->adopt("uid-a", "main", {{kGpu, {"g1"}}}, Found::Ended,
                  GpuParts{.each = {.milli = 500}});
  manager_->prepare_container(a, "main", [](const AllocationVerdict& verdict) {
    EXPECT_EQ(verdict.kind, Kind::Granted) << verdict.message;
  });
  run(Duration::minutes(1));
  EXPECT_THAT(manager_->edits_of("uid-a", "main").envs,
              ElementsAre(Pair("DEVICES", "g1"), Pair("GPU_PORTION", "0.5"),
                          Pair("RUNAI_NUM_OF_GPUS", "0.5")));
}

// Random lives against a table of thousandths: pods come whole and in parts, with a choice or
// without, go, and the agent restarts.
class PartLives : public Parts, public ::testing::WithParamInterface<int> {};

TEST_P(PartLives, NoGpuIsEverMoreThanWhole) {
  Rng rng(static_cast<std::uint64_t>(GetParam()));
  struct Owned {
    int milli = 0; // 1000: whole
    std::vector<int> gpus;
  };
  std::map<std::string, Owned> owned;
  const auto left = [&](int gpu) {
    int milli = 1000;
    for (const auto& [name, each] : owned) {
      milli -= std::ranges::count(each.gpus, gpu) > 0 ? each.milli : 0;
    }
    return milli;
  };
  for (int turn = 0; turn < 120; ++turn) {
    const std::string name = fmt::format("p{}", rng.below(9));
    const std::uint64_t act = rng.below(8);
    if (act == 0) {
      start();
    } else if (act <= 2) {
      manager_->release("uid-" + name);
      owned.erase(name);
    } else if (!owned.contains(name)) {
      const int milli = act == 3 ? 1000 : static_cast<int>(rng.between(1, 9)) * 100;
      const int gpu = static_cast<int>(rng.below(4));
      const bool chosen = rng.chance(1, 2);
      test::PodBuilder builder(name);
      if (milli == 1000) {
        builder.gpus(1);
        if (chosen) {
          builder.annotation(model::kGpuIndicesAnnotation, fmt::to_string(gpu));
        }
      } else {
        builder.annotation(model::kGpuMilli, fmt::to_string(milli));
        if (chosen) {
          builder.annotation(model::kGpuIndex, fmt::to_string(gpu));
        }
      }
      std::vector<int> fit;
      for (int each = 0; each < 4; ++each) {
        if (left(each) >= milli && (!chosen || each == gpu)) {
          fit.push_back(each);
        }
      }
      const auto verdict = allocate(builder);
      ASSERT_EQ(verdict.kind == Kind::Granted, !fit.empty()) << verdict.message;
      if (!fit.empty()) {
        ASSERT_THAT(held(name), SizeIs(1));
        const int got = held(name).front().back() - '0';
        ASSERT_THAT(fit, Contains(got));
        for (const int other : fit) {
          ASSERT_TRUE(milli == 1000 || left(got) <= left(other)) << "not the fullest";
        }
        owned[name] = {.milli = milli, .gpus = {got}};
      }
    }
    ASSERT_THAT(manager_->ledger().pods(), SizeIs(owned.size()));
    for (const auto& [each, what] : owned) {
      ASSERT_THAT(held(each), ElementsAre(fmt::format("g{}", what.gpus.front())));
    }
    ASSERT_EQ(decode_checkpoint(disk_.bytes().value_or(""))->holdings, manager_->ledger().all());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PartLives, ::testing::Range(1, 41));

} // namespace
} // namespace berth::node
