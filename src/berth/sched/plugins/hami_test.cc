// vGPUs as HAMi's scheduler gives them.
#include "berth/sched/plugins/hami.h"

#include <map>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/hardware/choose.h"
#include "berth/model/hami.h"
#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

namespace hami = model::hami;
using test::node;
using test::pod;
using test::SchedulingWorld;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

/// As docs/hami.md has it: Fit leaves the resources to Hami.
Profile hami_profile(boost::json::value args = nullptr) {
  Profile profile = default_profile();
  for (ProfilePlugin& plugin : profile.plugins) {
    if (plugin.name == "NodeResourcesFit") {
      plugin.args = test::json_of(R"({"ignoredResources": ["nvidia.com/gpu", "nvidia.com/gpumem",
          "nvidia.com/gpumem-percentage", "nvidia.com/gpucores"]})");
    }
  }
  profile.plugins.push_back({.name = "Hami", .weight = 100, .args = std::move(args)});
  return profile;
}

/// Two GPUs of 16000 MiB that four containers may share, "NAME-0" and "NAME-1".
test::NodeBuilder vgpu_node(std::string_view name, std::string_view type = "NVIDIA-Tesla T4") {
  auto builder = node(name);
  builder.resource("nvidia.com/gpu", "8")
      .annotation(hami::kRegister, fmt::format("{0}-0,4,16000,100,{1},0,true,0,hami-core:"
                                               "{0}-1,4,16000,100,{1},0,true,1,hami-core:",
                                               name, type));
  return builder;
}

test::PodBuilder asks(std::string_view name, int gpus, int memory = 0, int cores = 0) {
  auto builder = pod(name).cpu("1");
  builder.limit("nvidia.com/gpu", std::to_string(gpus));
  if (memory > 0) {
    builder.limit(hami::kMemory, std::to_string(memory));
  }
  if (cores > 0) {
    builder.limit(hami::kCores, std::to_string(cores));
  }
  return builder;
}

std::string given(const Decision& decision) {
  const auto it = decision.annotations.find(std::string(hami::kToAllocate));
  return it == decision.annotations.end() ? decision.message : it->second;
}

TEST(Hami, GpusAreSpreadUnlessThePodSaysBinpack) {
  SchedulingWorld world(hami_profile());
  world.with(vgpu_node("n"));
  EXPECT_EQ(given(world.decide(asks("a", 1, 4000, 10))), "n-0,NVIDIA,4000,10:;");
  EXPECT_EQ(given(world.decide(asks("b", 1, 4000, 10))), "n-1,NVIDIA,4000,10:;");
  auto packed = asks("c", 1, 2000);
  packed.annotation(hami::kGpuPolicy, "binpack");
  EXPECT_EQ(given(world.decide(packed)), "n-0,NVIDIA,2000,0:;");
  EXPECT_EQ(given(world.decide(asks("d", 1, 1000))), "n-1,NVIDIA,1000,0:;");
}

TEST(Hami, WritesWhatItsDevicePluginReads) {
  SchedulingWorld world(hami_profile());
  world.with(vgpu_node("n"));
  auto two = asks("a", 2, 3000, 30);
  two.container("idle").container("third").limit(hami::kMemoryPercentage, "25");
  const Decision decision = world.decide(two);
  const std::string want = "n-0,NVIDIA,3000,30:n-1,NVIDIA,3000,30:;;n-0,NVIDIA,4000,0:;";
  EXPECT_THAT(decision.annotations,
              ElementsAre(Pair("hami.io/bind-phase", "allocating"), Pair("hami.io/bind-time", "0"),
                          Pair("hami.io/vgpu-devices-allocated", want),
                          Pair("hami.io/vgpu-devices-to-allocate", want),
                          Pair("hami.io/vgpu-node", "n")));
}

TEST(Hami, MemoryAndCoresAreCountedOnEachGpu) {
  SchedulingWorld world(hami_profile());
  world.with(vgpu_node("n"));
  world.decide(asks("a", 1, 10000, 60));
  world.decide(asks("b", 1, 10000, 60));
  const Decision decision = world.decide(asks("c", 1, 8000));
  EXPECT_FALSE(decision.placed());
  EXPECT_THAT(decision.message,
              HasSubstr("1 node(s) didn't have vGPUs with enough memory and cores left"));
  EXPECT_FALSE(world.decide(asks("d", 1, 1000, 50)).placed()) << "cores";
  EXPECT_TRUE(world.decide(asks("e", 1, 6000, 40)).placed());
}

TEST(Hami, AGpuWithoutMemoryAskedForIsAllOfIt) {
  SchedulingWorld world(hami_profile());
  world.with(vgpu_node("n"));
  EXPECT_EQ(given(world.decide(asks("a", 1))), "n-0,NVIDIA,16000,0:;");
  EXPECT_EQ(given(world.decide(asks("b", 1))), "n-1,NVIDIA,16000,0:;");
  EXPECT_FALSE(world.decide(asks("c", 1)).placed()) << "eight are advertised, two are there";
}

TEST(Hami, AllCoresAreHadAlone) {
  SchedulingWorld world(hami_profile());
  world.with(vgpu_node("n"));
  world.decide(asks("a", 1, 1000));
  EXPECT_EQ(given(world.decide(asks("b", 1, 1000, 100))), "n-1,NVIDIA,1000,100:;");
  EXPECT_FALSE(world.decide(asks("c", 1, 1000, 100)).placed());
  EXPECT_EQ(given(world.decide(asks("d", 1, 1000))), "n-0,NVIDIA,1000,0:;") << "no cores are left";
}

TEST(Hami, NoMoreContainersThanAGpuMayHold) {
  SchedulingWorld world(hami_profile());
  world.with(vgpu_node("n"));
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(world.decide(asks(fmt::format("p{}", i), 1, 10)).placed());
  }
  EXPECT_FALSE(world.decide(asks("ninth", 1, 10)).placed());
}

TEST(Hami, TypesAndUuidsAreThePodsToChoose) {
  SchedulingWorld world(hami_profile());
  world.with(vgpu_node("t")).with(vgpu_node("v", "NVIDIA-Tesla V100")).with(node("bare"));
  auto by_type = asks("a", 1, 1);
  by_type.annotation(hami::kUseType, "a100,v100");
  EXPECT_EQ(given(world.decide(by_type)), "v-0,NVIDIA,1,0:;");
  auto not_type = asks("b", 1, 1);
  not_type.annotation(hami::kNoUseType, "T4");
  EXPECT_EQ(given(world.decide(not_type)), "v-1,NVIDIA,1,0:;");
  auto by_uuid = asks("c", 1, 1);
  by_uuid.annotation(hami::kUseUuid, "t-1");
  EXPECT_EQ(given(world.decide(by_uuid)), "t-1,NVIDIA,1,0:;");
  auto nowhere = asks("d", 1, 1);
  nowhere.annotation(hami::kUseType, "H100");
  EXPECT_THAT(world.decide(nowhere).message,
              testing::AllOf(HasSubstr("2 node(s) had no GPU of a requested type, UUID or mode"),
                             HasSubstr("1 node(s) had no GPUs that HAMi's device plugin "
                                       "registered")));
}

TEST(Hami, NodesAreBinpackedUnlessThePodSaysSpread) {
  SchedulingWorld world(hami_profile());
  world.with(vgpu_node("a")).with(vgpu_node("b"));
  auto first = asks("p", 1, 8000, 50);
  first.annotation(hami::kUseUuid, "b-0");
  world.decide(first);
  EXPECT_EQ(world.decide(asks("q", 1, 1000)).node_name, "b");
  auto spread = asks("r", 1, 1000);
  spread.annotation(hami::kNodePolicy, "spread");
  EXPECT_EQ(world.decide(spread).node_name, "a");
}

TEST(Hami, NumaBindKeepsAContainerOnOneNode) {
  SchedulingWorld world(hami_profile());
  world.with(node("n").annotation(hami::kRegister,
                                  "g0,4,100,100,t,0,true,0,hami-core:g1,4,100,100,t,1,true,1,"
                                  "hami-core:g2,4,100,100,t,1,true,2,hami-core:"));
  auto bound = asks("a", 2, 10);
  bound.annotation(hami::kNumaBind, "true").annotation(hami::kGpuPolicy, "binpack");
  EXPECT_EQ(given(world.decide(bound)), "g1,NVIDIA,10,0:g2,NVIDIA,10,0:;");
}

TEST(Hami, LoadComesBeforeNumaNodesUnlessBound) {
  SchedulingWorld world(hami_profile());
  world.with(node("n").annotation(hami::kRegister,
                                  "g0,4,100,100,t,0,true,0,hami-core:g1,4,100,100,t,1,true,1,"
                                  "hami-core:"));
  EXPECT_EQ(given(world.decide(asks("a", 1, 10))), "g1,NVIDIA,10,0:;") << "spread: the highest";
  EXPECT_EQ(given(world.decide(asks("b", 1, 10))), "g0,NVIDIA,10,0:;") << "the idle one";
  EXPECT_EQ(given(world.decide(asks("c", 1, 20))), "g1,NVIDIA,20,0:;");
  auto packed = asks("d", 1, 10);
  packed.annotation(hami::kGpuPolicy, "numa, binpack");
  EXPECT_EQ(given(world.decide(packed)), "g1,NVIDIA,10,0:;") << "the fuller one";
  auto bound = asks("e", 1, 10);
  bound.annotation(hami::kGpuPolicy, "binpack").annotation(hami::kNumaBind, "true");
  EXPECT_EQ(given(world.decide(bound)), "g0,NVIDIA,10,0:;") << "node after node";
}

TEST(Hami, PoliciesInAListCountOneAfterTheOther) {
  const auto world_of = [] {
    SchedulingWorld world(hami_profile());
    world.with(node("n").annotation(hami::kRegister,
                                    "g0,4,100,100,t,0,true,0,hami-core:g1,4,100,100,t,0,true,1,"
                                    "hami-core:g2,4,100,100,t,1,true,2,hami-core:"));
    auto theirs = asks("x", 1, 60);
    theirs.annotation(hami::kAllocated, "g0,NVIDIA,60,0:;");
    world.with(theirs, "n");
    return world;
  };
  const auto with = [&](std::string_view policy) {
    SchedulingWorld world = world_of();
    auto one = asks("a", 1, 10);
    one.annotation(hami::kGpuPolicy, policy);
    return given(world.decide(one)).substr(0, 2);
  };
  EXPECT_EQ(with("numa"), "g2") << "the highest node";
  EXPECT_EQ(with("binpack,numa"), "g0") << "the fullest, wherever";
  EXPECT_EQ(with("spread,numa"), "g2") << "of the idle ones that of the highest node";
  EXPECT_EQ(with("numa,spread"), "g2");
  EXPECT_EQ(with("binpack,nonsense"), "g0") << "as binpack alone";
}

TEST(Hami, TopologyAwareTakesTheGpusThatAreLinkedBest) {
  // Of this machine's four GPUs all are linked alike; of another, pairs below a switch are.
  const hardware::Platform& p = *hardware::Catalogue::builtin().find("l40s-pcie-8");
  std::string gpus;
  for (const hardware::Gpu& gpu : p.gpus) {
    gpus += fmt::format("g{0},4,100,100,t,{1},true,{0},hami-core:", gpu.index, gpu.numa);
  }
  const auto pick = [&](bool known, std::string_view policy, std::string_view full) {
    SchedulingWorld world(hami_profile());
    auto machine = node("n");
    machine.annotation(hami::kRegister, gpus);
    if (known) {
      machine.platform(p.name);
    }
    world.with(machine);
    auto theirs = asks("x", 1, 100);
    theirs.annotation(hami::kAllocated, fmt::format("{},NVIDIA,100,0:;", full));
    world.with(theirs, "n");
    auto two = asks("a", 2, 10);
    two.annotation(hami::kGpuPolicy, policy);
    hardware::GpuMask mask = 0;
    std::string text = given(world.decide(two));
    for (std::size_t at = text.find('g'); at != std::string::npos; at = text.find('g', at + 1)) {
      mask |= hardware::GpuMask{1} << static_cast<unsigned>(text[at + 1] - '0');
    }
    return mask;
  };
  const hardware::GpuMask open = 0xff & ~1U;
  EXPECT_EQ(pick(true, "topology-aware", "g0"),
            *hardware::choose_gpus(p, open, 2, hardware::ChoicePolicy::Topology));
  EXPECT_EQ(pick(false, "topology-aware", "g0"), pick(true, "spread", "g0"))
      << "of a machine that nobody knows, as without";
}

TEST(Hami, ANodeThatIsLockedForAPodOfHamisSchedulerIsLeftAlone) {
  SchedulingWorld world(hami_profile());
  auto locked = vgpu_node("n");
  locked.annotation(hami::kLock, "2026-06-14T15:05:03Z,default,theirs");
  world.with(locked);
  EXPECT_TRUE(world.decide(asks("before", 1, 1000)).placed()) << "nobody of that name is there";
  auto theirs = asks("theirs", 1, 1000);
  theirs.annotation(hami::kAllocated, "n-1,NVIDIA,1000,0:;")
      .annotation(hami::kBindPhase, "allocating");
  world.with(theirs, "n");
  const Decision decision = world.decide(asks("a", 1, 1000));
  EXPECT_FALSE(decision.placed());
  EXPECT_THAT(decision.message, HasSubstr(std::string(kReasonHamiLocked)));
}

TEST(Hami, AStaleLockHoldsNobodyUp) {
  SchedulingWorld world(hami_profile());
  auto locked = vgpu_node("n");
  locked.annotation(hami::kLock, "2026-06-14T15:05:03Z,default,theirs");
  world.with(locked);
  auto theirs = asks("theirs", 1, 1000);
  theirs.annotation(hami::kAllocated, "n-1,NVIDIA,1000,0:;")
      .annotation(hami::kBindPhase, "success");
  world.with(theirs, "n");
  EXPECT_TRUE(world.decide(asks("a", 1, 1000)).placed());
}

TEST(Hami, MutexIsForGpusThatNobodyHasAPartOf) {
  SchedulingWorld world(hami_profile());
  world.with(vgpu_node("n"));
  world.decide(asks("a", 1, 1000));
  auto alone = asks("b", 1, 1000);
  alone.annotation(hami::kGpuPolicy, "mutex,binpack");
  EXPECT_EQ(given(world.decide(alone)), "n-1,NVIDIA,1000,0:;");
  auto more = asks("c", 1, 1000);
  more.annotation(hami::kGpuPolicy, "mutex");
  EXPECT_FALSE(world.decide(more).placed());
  EXPECT_EQ(given(world.decide(asks("d", 2, 1000))), "n-0,NVIDIA,1000,0:n-1,NVIDIA,1000,0:;")
      << "others may join it";
}

TEST(Hami, SickGpusAndPodsOfOthersCount) {
  SchedulingWorld world(hami_profile());
  world.with(node("n").annotation(
      hami::kRegister, "g0,4,100,100,t,0,false,0,hami-core:g1,4,100,100,t,0,true,1,hami-core:"));
  auto theirs = asks("x", 1, 60);
  theirs.annotation(hami::kAllocated, "g1,NVIDIA,60,0:;");
  world.with(theirs, "n");
  EXPECT_FALSE(world.decide(asks("a", 1, 50)).placed());
  EXPECT_EQ(given(world.decide(asks("b", 1, 40))), "g1,NVIDIA,40,0:;");
}

model::ResourceQuota quota(std::string_view name, std::int64_t memory, std::int64_t cores = -1,
                           std::string_view ns = "default") {
  model::ResourceQuota made;
  made.meta.ns = ns;
  made.meta.name = name;
  made.hard.emplace("limits.nvidia.com/gpumem", api::Quantity::from_int(memory));
  if (cores >= 0) {
    made.hard.emplace("limits.nvidia.com/gpucores", api::Quantity::from_int(cores));
  }
  made.hard.emplace("pods", api::Quantity::from_int(1000));
  return made;
}

TEST(Hami, ANamespaceHasNoMoreThanItsQuota) {
  SchedulingWorld world(hami_profile());
  world.with(vgpu_node("n")).with(vgpu_node("m"));
  world.state().change_vgpu_quotas().set(quota("q", 10000, 60));
  EXPECT_TRUE(world.decide(asks("a", 2, 3000, 20)).placed()) << "6000 MiB and 40% of two";
  const Decision memory = world.decide(asks("b", 1, 5000));
  EXPECT_FALSE(memory.placed());
  EXPECT_THAT(memory.message,
              HasSubstr("2 node(s) had no vGPUs within what the namespace's quota"));
  EXPECT_FALSE(world.decide(asks("c", 1, 1000, 30)).placed()) << "cores";
  EXPECT_FALSE(world.decide(asks("d", 2, 2500)).placed()) << "each of two";
  auto elsewhere = asks("e", 1, 8000);
  EXPECT_TRUE(world.decide(elsewhere.ns("other")).placed()) << "another namespace";
  EXPECT_TRUE(world.decide(asks("f", 1, 4000, 20)).placed()) << "all that is left";
  world.state().remove_pod("default/a");
  EXPECT_TRUE(world.decide(asks("g", 1, 6000)).placed());
}

TEST(Hami, APercentageCountsAsWhatItIsOfTheGpu) {
  SchedulingWorld world(hami_profile());
  world.with(node("n").annotation(hami::kRegister, "big,4,16000,100,t,0,true,0,hami-core:"
                                                   "small,4,8000,100,t,0,true,1,hami-core:"));
  world.state().change_vgpu_quotas().set(quota("q", 4000));
  auto half = pod("p").cpu("1");
  half.limit("nvidia.com/gpu", "1").limit(hami::kMemoryPercentage, "50");
  EXPECT_EQ(given(world.decide(half)), "small,NVIDIA,4000,0:;") << "half of the other is too much";
}

TEST(Hami, OfSeveralQuotasTheTightestCountsAndZeroIsNothing) {
  SchedulingWorld world(hami_profile());
  world.with(vgpu_node("n"));
  VgpuQuotas& quotas = world.state().change_vgpu_quotas();
  quotas.set(quota("wide", 9000));
  quotas.set(quota("tight", 2000));
  EXPECT_FALSE(world.decide(asks("a", 1, 3000)).placed());
  quotas.remove({"default", "tight"});
  EXPECT_TRUE(world.decide(asks("b", 1, 3000)).placed());
  quotas.set(quota("none", 0));
  EXPECT_FALSE(world.decide(asks("c", 1, 1)).placed());
  quotas.remove({"default", "none"});
  quotas.remove({"default", "wide"});
  quotas.remove({"default", "wide"});
  EXPECT_TRUE(world.decide(asks("d", 1, 12000)).placed());
  EXPECT_FALSE(quotas.limits("default").any());
}

TEST(Hami, ArgumentsAreChecked) {
  EXPECT_TRUE(parse_hami_args(nullptr)->gpus.keys.empty()) << "spread";
  EXPECT_EQ(parse_hami_args(test::json_of(R"({"gpuSchedulerPolicy": "binpack"})"))->gpus.keys,
            std::vector{HamiGpuPolicy::Key::Binpack});
  const auto chain =
      parse_hami_args(test::json_of(R"({"gpuSchedulerPolicy": "mutex, numa,topology-aware"})"));
  ASSERT_TRUE(chain);
  EXPECT_TRUE(chain->gpus.unused_only && chain->gpus.topology && chain->gpus.chained);
  EXPECT_EQ(chain->gpus.keys, std::vector{HamiGpuPolicy::Key::Numa});
  EXPECT_FALSE(parse_hami_args(test::json_of(R"({"gpuSchedulerPolicy": ""})")));
  EXPECT_FALSE(parse_hami_args(test::json_of(R"({"gpuSchedulerPolicy": "binpack,tight"})")));
  EXPECT_FALSE(parse_hami_args(test::json_of(R"({"nodeSchedulerPolicy": "numa"})")));
  EXPECT_FALSE(parse_hami_args(test::json_of(R"({"gpuSchedulerPolicy": "tight"})")));
  EXPECT_FALSE(parse_hami_args(test::json_of(R"({"policy": "binpack"})")));
}

// Random histories against a table of what each GPU has left.
class HamiHistories : public ::testing::TestWithParam<int> {};

TEST_P(HamiHistories, NoGpuGivesMoreThanItHas) {
  Rng rng(static_cast<std::uint64_t>(GetParam()));
  SchedulingWorld world(hami_profile());
  world.with(vgpu_node("n"));
  const int memory_limit = GetParam() % 2 == 0 ? 20000 : 1000000;
  const int cores_limit = GetParam() % 3 == 0 ? 120 : 1000;
  world.state().change_vgpu_quotas().set(quota("q", memory_limit, cores_limit));
  struct Ask {
    int gpus = 0;
    int memory = 0;
    int cores = 0;
    std::string text;
  };
  std::map<std::string, Ask> live;
  const auto left = [&](const std::string& uuid) {
    Ask room{.gpus = 4, .memory = 16000, .cores = 100, .text = ""};
    for (const auto& [name, ask] : live) {
      const auto shares = hami::decode_shares(ask.text);
      for (const hami::Share& share : shares->front()) {
        if (share.uuid == uuid) {
          room.gpus -= 1;
          room.memory -= static_cast<int>(share.memory);
          room.cores -= share.cores;
        }
      }
    }
    return room;
  };
  for (int turn = 0; turn < 150; ++turn) {
    const std::string name = fmt::format("p{}", rng.below(10));
    if (live.contains(name)) {
      world.state().remove_pod("default/" + name);
      live.erase(name);
      continue;
    }
    Ask ask{.gpus = static_cast<int>(rng.between(1, 2)),
            .memory = static_cast<int>(rng.between(1, 12)) * 1000,
            .cores = static_cast<int>(rng.between(1, 9)) * 10,
            .text = ""};
    int fit = 0;
    Ask with{.gpus = 0, .memory = ask.gpus * ask.memory, .cores = ask.gpus * ask.cores, .text = ""};
    for (const auto& [other, each] : live) {
      with.memory += each.gpus * each.memory;
      with.cores += each.gpus * each.cores;
    }
    const bool within = with.memory <= memory_limit && with.cores <= cores_limit;
    for (const std::string uuid : {"n-0", "n-1"}) {
      const Ask room = left(uuid);
      fit += room.gpus > 0 && room.memory >= ask.memory && room.cores >= ask.cores ? 1 : 0;
    }
    const Decision decision = world.decide(asks(name, ask.gpus, ask.memory, ask.cores));
    ASSERT_EQ(decision.placed(), fit >= ask.gpus && within)
        << "turn " << turn << ": " << decision.message;
    if (decision.placed()) {
      ask.text = given(decision);
      live[name] = ask;
      ASSERT_EQ(hami::decode_shares(ask.text)->front().size(), static_cast<std::size_t>(ask.gpus));
    }
    for (const std::string uuid : {"n-0", "n-1"}) {
      const Ask room = left(uuid);
      ASSERT_TRUE(room.gpus >= 0 && room.memory >= 0 && room.cores >= 0) << uuid;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, HamiHistories, ::testing::Range(1, 21));

} // namespace
} // namespace berth::sched
