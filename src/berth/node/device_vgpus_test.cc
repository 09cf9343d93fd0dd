// HAMi's vGPUs in the device manager: random lives against what each GPU has left, written out
// again; what is remembered, and by single devices.
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

namespace hami = model::hami;
using test::FakeDevicePlugin;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using Kind = AllocationVerdict::Kind;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

// A manager with a plugin of three GPUs, "g0" to "g2", of 16000, 16000 and 8000 MiB, each for
// three.
class DeviceVgpus : public ::testing::Test {
 protected:
  DeviceVgpus() {
    set_log_level(LogLevel::Off);
    start();
  }
  ~DeviceVgpus() override { set_log_level(LogLevel::Warn); }

  static std::vector<hami::Device> gpus() {
    std::vector<hami::Device> made;
    for (const int index : {0, 1, 2}) {
      made.push_back({.uuid = fmt::format("g{}", index),
                      .count = 3,
                      .memory = index == 2 ? 8000 : 16000,
                      .cores = 100,
                      .type = "T4",
                      .index = index});
    }
    return made;
  }
  void start() {
    manager_ = std::make_unique<DeviceManager>(
        loop_, disk_,
        DeviceManagerOptions{
            .boot_id = "boot-1",
            .needs_plugin = [](std::string_view resource) { return resource == kGpu; },
            .gpu_of_index = [](int index) { return std::optional(fmt::format("g{}", index)); },
            .index_of_gpu = [](const std::string& id) { return id.back() - '0'; },
            .vgpus = [] { return gpus(); },
            .holder_state =
                [this](std::string_view uid) {
                  return dying_.contains(uid) ? HolderState::Dying : HolderState::Live;
                },
            .on_change = [] {}});
    manager_->register_plugin({.resource_name = kGpu, .endpoint = plugin_},
                              [](const Result<void>& result) { EXPECT_TRUE(result); });
    run();
  }
  void run(Duration span = Duration::millis(1)) { loop_.run_until(loop_.now() + span); }

  static std::shared_ptr<const model::Pod> pod(std::string_view name,
                                               const hami::PodShares& shares) {
    test::PodBuilder builder(name);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      if (i > 0) {
        builder.container(fmt::format("c{}", i));
      }
      if (!shares[i].empty()) {
        builder.limit(kGpu, fmt::to_string(shares[i].size()));
      }
    }
    return builder.uid(name).annotation(hami::kToAllocate, hami::encode_shares(shares)).build();
  }
  AllocationVerdict allocate(const std::shared_ptr<const model::Pod>& of) {
    std::optional<AllocationVerdict> verdict;
    manager_->allocate(of, AllocationScope::Whole,
                       [&](AllocationVerdict said) { verdict = std::move(said); });
    run(Duration::minutes(1));
    EXPECT_TRUE(verdict) << "no answer";
    return verdict.value_or(AllocationVerdict());
  }

  VirtualLoop loop_{TimePoint::from_unix_seconds(1'700'000'000)};
  MemoryCheckpointStore disk_;
  std::set<std::string, std::less<>> dying_;
  std::shared_ptr<FakeDevicePlugin> plugin_ = std::make_shared<FakeDevicePlugin>(
      loop_, std::vector<deviceplugin::Device>{{.id = "g0"}, {.id = "g1"}, {.id = "g2"}});
  std::unique_ptr<DeviceManager> manager_;
};

TEST_F(DeviceVgpus, AContainerHasItsOwnOfEachGpu) {
  const auto asked = pod("a", {{{.uuid = "g2", .memory = 4000, .cores = 30},
                                {.uuid = "g0", .memory = 8000, .cores = 30}},
                               {},
                               {{.uuid = "g2", .memory = 1000, .cores = 0}}});
  EXPECT_EQ(allocate(asked).kind, Kind::Granted);
  EXPECT_THAT(manager_->edits_of("a", "main").envs,
              ElementsAre(Pair("CUDA_DEVICE_MEMORY_LIMIT_0", "8000m"),
                          Pair("CUDA_DEVICE_MEMORY_LIMIT_1", "4000m"),
                          Pair("CUDA_DEVICE_SM_LIMIT", "30"), Pair("DEVICES", "g0,g2")));
  EXPECT_THAT(manager_->edits_of("a", "c1").envs, IsEmpty());
  EXPECT_THAT(manager_->edits_of("a", "c2").envs,
              ElementsAre(Pair("CUDA_DEVICE_MEMORY_LIMIT_0", "1000m"),
                          Pair("CUDA_DEVICE_SM_LIMIT", "0"), Pair("DEVICES", "g2")));
}

TEST_F(DeviceVgpus, OnePodsContainersDoNotExceedAGpuEither) {
  const auto verdict = allocate(pod("a", {{{.uuid = "g2", .memory = 5000, .cores = 0}},
                                          {{.uuid = "g2", .memory = 5000, .cores = 0}}}));
  EXPECT_EQ(verdict.kind, Kind::Rejected);
  EXPECT_THAT(manager_->ledger().all(), IsEmpty()) << "nor does it keep the first";
}

TEST_F(DeviceVgpus, WhatIsOnItsWayOutIsWaitedForIfThatHelps) {
  EXPECT_EQ(allocate(pod("old", {{{.uuid = "g2", .memory = 5000, .cores = 0}}})).kind,
            Kind::Granted);
  EXPECT_EQ(allocate(pod("stays", {{{.uuid = "g1", .memory = 9000, .cores = 0}}})).kind,
            Kind::Granted);
  dying_.insert("old");
  EXPECT_EQ(allocate(pod("a", {{{.uuid = "g2", .memory = 4000, .cores = 0}}})).kind, Kind::Wait);
  EXPECT_EQ(allocate(pod("b", {{{.uuid = "g1", .memory = 8000, .cores = 0}}})).kind,
            Kind::Rejected);
  manager_->release("old");
  EXPECT_EQ(allocate(pod("a", {{{.uuid = "g2", .memory = 4000, .cores = 0}}})).kind, Kind::Granted);
}

class VgpuLives : public DeviceVgpus, public ::testing::WithParamInterface<int> {};

TEST_P(VgpuLives, NoGpuIsEverMoreThanItIs) {
  Rng rng(static_cast<std::uint64_t>(GetParam()));
  std::map<std::string, hami::PodShares> live;
  // As much as there is of each, counted out, with the pod.
  const auto fits = [&](const hami::PodShares& wanted) {
    for (const hami::Device& gpu : gpus()) {
      std::int64_t memory = 0;
      int cores = 0;
      int containers = 0;
      bool alone = false;
      const auto count = [&](const hami::PodShares& shares) {
        for (const auto& container : shares) {
          for (const hami::Share& share : container) {
            if (share.uuid == gpu.uuid) {
              memory += share.memory;
              cores += share.cores;
              ++containers;
              alone = alone || share.cores == 100;
            }
          }
        }
      };
      for (const auto& [name, shares] : live) {
        count(shares);
      }
      count(wanted);
      if (memory > gpu.memory || cores > gpu.cores || containers > gpu.count ||
          (alone && containers > 1)) {
        return false;
      }
    }
    return true;
  };
  for (int turn = 0; turn < 150; ++turn) {
    const std::string name = fmt::format("p{}", rng.below(10));
    const std::uint64_t act = rng.below(8);
    if (act == 0) {
      start();
    } else if (act <= 2) {
      manager_->release(name);
      live.erase(name);
    } else if (!live.contains(name)) {
      hami::PodShares wanted(static_cast<std::size_t>(rng.between(1, 2)));
      for (auto& container : wanted) {
        const std::uint64_t first = rng.below(3);
        const std::uint64_t many = rng.between(1, 2);
        for (std::uint64_t i = 0; i < many; ++i) {
          container.push_back(
              {.uuid = fmt::format("g{}", (first + i) % 3),
               .memory = rng.between(1, 7) * 1000,
               .cores = static_cast<int>(rng.chance(1, 6) ? 100 : rng.between(0, 5) * 10)});
        }
      }
      // Where the pod has a GPU in both, the part of it that is fits is asked of each in turn.
      const auto verdict = allocate(pod(name, wanted));
      ASSERT_EQ(verdict.kind == Kind::Granted, fits(wanted))
          << "turn " << turn << ": " << verdict.message;
      if (verdict.kind == Kind::Granted) {
        live[name] = wanted;
      }
    }
    ASSERT_THAT(manager_->ledger().pods(), SizeIs(live.size()));
    for (const auto& [each, shares] : live) {
      for (const Holding* holding : manager_->ledger().of_pod(each)) {
        const std::size_t at = holding->container == "main" ? 0 : 1;
        ASSERT_EQ(holding->ids().size(), shares[at].size());
        for (const hami::Share& share : shares[at]) {
          ASSERT_EQ(holding->part->of(share.uuid).memory, share.memory * kMiB);
          ASSERT_EQ(holding->part->of(share.uuid).cores, share.cores);
        }
      }
    }
    ASSERT_EQ(decode_checkpoint(disk_.bytes().value_or(""))->holdings, manager_->ledger().all());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, VgpuLives, ::testing::Range(1, 41));

} // namespace
} // namespace berth::node
