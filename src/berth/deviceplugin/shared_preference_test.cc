#include "berth/deviceplugin/shared_preference.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"

namespace berth::deviceplugin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum AllocationPolicy;

std::string id(int gpu, int replica) {
  return fmt::format("GPU-{}::{}", gpu, replica);
}

PlannedResource shared(int gpus, int replicas) {
  PlannedResource resource{.name = "nvidia.com/gpu", .devices = {}};
  for (int gpu = 0; gpu < gpus; ++gpu) {
    for (int i = 0; i < replicas; ++i) {
      resource.devices.push_back(
          {.id = id(gpu, i), .uuid = fmt::format("GPU-{}", gpu), .gpu = gpu, .replica = true});
    }
  }
  return resource;
}

std::vector<std::string> all(const PlannedResource& resource) {
  std::vector<std::string> ids;
  for (const PluginDevice& device : resource.devices) {
    ids.push_back(device.id);
  }
  return ids;
}

TEST(SharedPreference, DistributedTakesOfTheGpuWithTheFewestTaken) {
  const PlannedResource resource = shared(3, 2);
  const auto ids = preferred_shared(
      resource, Distributed,
      {.available = {id(0, 1), id(1, 0), id(1, 1), id(2, 0), id(2, 1)}, .allocation_size = 3});
  ASSERT_TRUE(ids);
  EXPECT_THAT(*ids, ElementsAre(id(1, 0), id(2, 0), id(0, 1)));
}

TEST(SharedPreference, PackedFillsTheGpuWithTheMostTaken) {
  const PlannedResource resource = shared(3, 3);
  const auto ids =
      preferred_shared(resource, Packed,
                       {.available = {id(0, 0), id(0, 1), id(0, 2), id(1, 1), id(1, 2), id(2, 2)},
                        .allocation_size = 4});
  ASSERT_TRUE(ids);
  EXPECT_THAT(*ids, ElementsAre(id(2, 2), id(1, 1), id(1, 2), id(0, 0)));
}

TEST(SharedPreference, SpreadTouchesEachGpuBeforeAnyTwice) {
  const PlannedResource resource = shared(2, 4);
  std::vector<std::string> available = all(resource);
  std::erase(available, id(0, 1));
  const auto ids = preferred_shared(
      resource, Spread, {.available = available, .must_include = {id(0, 3)}, .allocation_size = 3});
  ASSERT_TRUE(ids);
  EXPECT_THAT(*ids, ElementsAre(id(0, 3), id(1, 0), id(1, 1)))
      << "then the GPU with fewer taken of two that are equally touched";
}

TEST(SharedPreference, RefusesStrangersAndTooMuch) {
  const PlannedResource resource = shared(1, 2);
  EXPECT_EQ(preferred_shared(resource, Packed, {.available = {"x"}, .allocation_size = 1})
                .error()
                .message,
            "invalid request: unknown device: x");
  EXPECT_EQ(preferred_shared(resource, Packed, {.available = {id(0, 0)}, .allocation_size = 2})
                .error()
                .message,
            "not enough available devices to satisfy allocation");
  EXPECT_THAT(preferred_shared(resource, Packed,
                               {.must_include = {id(0, 0), id(0, 1)}, .allocation_size = 1})
                  .error()
                  .message,
              HasSubstr("required 2, asked 1"));
}

// ---- against a plain reference ------------------------------------------------------------------

/// The rule itself, device by device: of all that are free the one whose GPU comes first, counting
/// everything anew each time.
std::vector<std::string> reference(const PlannedResource& resource, AllocationPolicy policy,
                                   const PreferredAllocationRequest& request) {
  std::vector<std::string> chosen = request.must_include;
  const auto has = [](const std::vector<std::string>& ids, const std::string& wanted) {
    return std::ranges::find(ids, wanted) != ids.end();
  };
  const std::vector<std::string> required = request.must_include;
  while (chosen.size() < static_cast<std::size_t>(request.allocation_size)) {
    const PluginDevice* best = nullptr;
    std::vector<int> best_rank;
    for (const PluginDevice& device : resource.devices) {
      if (!has(request.available, device.id) || has(chosen, device.id)) {
        continue;
      }
      int taken = 0;
      int picked = 0;
      for (const PluginDevice& other : resource.devices) {
        if (other.gpu == device.gpu) {
          picked += has(chosen, other.id) ? 1 : 0;
          taken += !has(request.available, other.id) || has(chosen, other.id) ? 1 : 0;
        }
      }
      const std::vector<int> rank = policy == Spread ? std::vector{picked, taken, device.gpu}
                                    : policy == Distributed
                                        ? std::vector{taken, picked, device.gpu}
                                        : std::vector{-taken, picked, device.gpu};
      if (best == nullptr || rank < best_rank) {
        best = &device;
        best_rank = rank;
      }
    }
    if (best == nullptr) {
      return {};
    }
    chosen.push_back(best->id);
  }
  return chosen;
}

TEST(SharedPreference, IsTheRulesChoiceOnRandomNodes) {
  Rng rng(11);
  for (int turn = 0; turn < 400; ++turn) {
    const PlannedResource resource =
        shared(1 + static_cast<int>(rng.below(5)), 2 + static_cast<int>(rng.below(5)));
    PreferredAllocationRequest request;
    for (const PluginDevice& device : resource.devices) {
      if (rng.chance(2, 3)) {
        request.available.push_back(device.id);
        if (rng.chance(1, 6)) {
          request.must_include.push_back(device.id);
        }
      }
    }
    request.allocation_size =
        static_cast<int>(request.must_include.size() +
                         rng.below(request.available.size() - request.must_include.size() + 1));
    for (const AllocationPolicy policy : {Distributed, Packed, Spread}) {
      const auto ids = preferred_shared(resource, policy, request);
      ASSERT_TRUE(ids) << turn;
      const std::set<std::string> distinct(ids->begin(), ids->end());
      EXPECT_EQ(distinct.size(), static_cast<std::size_t>(request.allocation_size)) << turn;
      EXPECT_THAT(*ids, ::testing::UnorderedElementsAreArray(reference(resource, policy, request)))
          << "turn " << turn;
    }
  }
}

// No move of one device to another GPU makes the counts more even.
TEST(SharedPreference, DistributedLeavesNoGpuTwoAheadOfOneWithRoom) {
  Rng rng(5);
  for (int turn = 0; turn < 200; ++turn) {
    constexpr int kGpus = 4;
    const PlannedResource resource = shared(kGpus, 6);
    const int size = 1 + static_cast<int>(rng.below(24));
    const auto ids = preferred_shared(resource, Distributed,
                                      {.available = all(resource), .allocation_size = size});
    ASSERT_TRUE(ids);
    std::map<std::string, int> counts;
    for (const std::string& each : *ids) {
      ++counts[each.substr(0, each.find("::"))];
    }
    int most = 0;
    for (const auto& [gpu, count] : counts) {
      most = std::max(most, count);
    }
    EXPECT_LE(most, (size + kGpus - 1) / kGpus) << size;
  }
}

} // namespace
} // namespace berth::deviceplugin
