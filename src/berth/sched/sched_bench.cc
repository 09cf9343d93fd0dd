// Decisions a second: mixed GPU pods on a half-full cluster of n nodes, pods that fit nowhere, and
// preemption.
#include <algorithm>
#include <deque>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "berth/sched/decider.h"
#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::SchedulingWorld;

test::NodeBuilder gpu_node(std::int64_t i) {
  auto node = test::node(fmt::format("gpu-{}", i));
  node.cpu("128").memory("1Ti").gpus(8).platform(i % 2 == 0 ? "dgx-h100" : "l40s-pcie-8");
  node.label("topology.kubernetes.io/zone", fmt::format("zone-{}", i % 8));
  node.label("nvidia.com/gpu.product", i % 2 == 0 ? "NVIDIA-H100-80GB-HBM3" : "NVIDIA-L40S");
  if (i % 16 == 0) {
    node.taint("reserved", "NoSchedule", "research");
  }
  return node;
}

/// Kubernetes' plugins and GpuTopology, as Berth's scheduler runs them.
Profile gpu_profile() {
  Profile profile = default_profile();
  profile.plugins.push_back({.name = "GpuTopology", .weight = 1, .args = {}});
  return profile;
}

test::PodBuilder gpu_pod(std::int64_t i) {
  constexpr int kSizes[] = {1, 8, 2, 4, 1, 8, 1, 2};
  auto pod = test::pod(fmt::format("pod-{}", i));
  pod.cpu(fmt::format("{}", 4 + i % 3 * 4)).memory("32Gi").gpus(kSizes[i % 8]);
  if (i % 4 == 0) {
    pod.node_selector("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3");
  }
  return pod;
}

/// Half of the GPUs are taken; then each placed pod replaces the oldest. `decide` is given pods of
/// `shapes` kinds in turn, from the given one of gpu_pod on.
template <class Decide>
void replace_pods(benchmark::State& bench, std::int64_t first_shape, std::int64_t shapes,
                  SchedulingWorld& world, const Decide& decide) {
  const std::int64_t nodes = bench.range(0);
  for (std::int64_t i = 0; i < nodes; ++i) {
    world.with(gpu_node(i));
  }
  std::vector<PodPtr> examples;
  for (std::int64_t i = 0; i < shapes; ++i) {
    examples.push_back(world.state().describe(gpu_pod(first_shape + i).build()));
  }
  // Ready-made pods: decoding is not what is measured.
  std::int64_t next = 0;
  const auto fresh = [&] {
    auto pod = std::make_shared<PodInfo>(*examples[static_cast<std::size_t>(next % shapes)]);
    pod->uid = fmt::format("uid-{}", next++);
    return PodPtr(std::move(pod));
  };
  std::deque<std::string> running;
  std::int64_t held = 0;
  while (held < nodes * 4) {
    const PodPtr pod = fresh();
    if (decide(pod).placed()) {
      held += pod->gpus;
      running.push_back(pod->uid);
    }
  }
  std::vector<PodPtr> waiting;
  for (auto _ : bench) {
    if (waiting.empty()) {
      bench.PauseTiming();
      for (int i = 0; i < 4096; ++i) {
        waiting.push_back(fresh());
      }
      std::ranges::reverse(waiting);
      bench.ResumeTiming();
    }
    const PodPtr pod = std::move(waiting.back());
    waiting.pop_back();
    if (decide(pod).placed()) {
      running.push_back(pod->uid);
    }
    world.state().remove_pod(running.front());
    running.pop_front();
  }
  bench.SetItemsProcessed(bench.iterations());
}

void decide_mixed_gpu_pods(benchmark::State& bench) {
  SchedulingWorld world(gpu_profile());
  Decider decider(world.framework(), world.state());
  replace_pods(bench, 0, 24, world, [&](const PodPtr& pod) { return decider.decide(pod); });
}
BENCHMARK(decide_mixed_gpu_pods)->Arg(100)->Arg(1000)->Arg(5000)->Unit(benchmark::kMicrosecond);

void decide_gpu_pods_of_one_shape(benchmark::State& bench) {
  SchedulingWorld world(gpu_profile());
  Decider decider(world.framework(), world.state());
  replace_pods(bench, 6, 1, world, [&](const PodPtr& pod) { return decider.decide(pod); });
}
BENCHMARK(decide_gpu_pods_of_one_shape)
    ->Arg(100)
    ->Arg(1000)
    ->Arg(5000)
    ->Unit(benchmark::kMicrosecond);
// Filling the cluster takes long, so it is done once.
BENCHMARK(decide_gpu_pods_of_one_shape)
    ->Arg(100'000)
    ->Iterations(500'000)
    ->Unit(benchmark::kMicrosecond);

/// An empty cluster takes pods of one GPU until it is full, as scheduler_perf counts: nobody leaves
/// meanwhile.
void fill_with_gpu_pods_of_one_shape(benchmark::State& bench) {
  SchedulingWorld world(gpu_profile());
  for (std::int64_t i = 0; i < bench.range(0); ++i) {
    world.with(gpu_node(i));
  }
  Decider decider(world.framework(), world.state());
  const PodPtr example = world.state().describe(gpu_pod(6).build());
  const std::int64_t room = bench.range(0) * 8 * 15 / 16; // every sixteenth node is tainted
  std::vector<PodPtr> pods;
  std::int64_t decisions = 0;
  for (auto _ : bench) {
    bench.PauseTiming();
    for (const PodPtr& pod : pods) {
      world.state().remove_pod(pod->uid);
    }
    pods.clear();
    for (std::int64_t i = 0; i < room - room / 100; ++i) {
      auto pod = std::make_shared<PodInfo>(*example);
      pod->uid = fmt::format("uid-{}", decisions++);
      pods.push_back(std::move(pod));
    }
    bench.ResumeTiming();
    for (const PodPtr& pod : pods) {
      benchmark::DoNotOptimize(decider.decide(pod));
    }
  }
  bench.SetItemsProcessed(decisions);
}
BENCHMARK(fill_with_gpu_pods_of_one_shape)
    ->Arg(1000)
    ->Arg(5000)
    ->Arg(20'000)
    ->Unit(benchmark::kMillisecond);

/// The same, every node looked at for every pod.
void decide_mixed_gpu_pods_plainly(benchmark::State& bench) {
  SchedulingWorld world(gpu_profile());
  replace_pods(bench, 0, 24, world, [&](const PodPtr& pod) {
    return schedule_one(world.framework(), world.state(), pod);
  });
}
BENCHMARK(decide_mixed_gpu_pods_plainly)
    ->Arg(100)
    ->Arg(1000)
    ->Arg(5000)
    ->Unit(benchmark::kMicrosecond);

/// 16 GPUs fit no node: every node is asked, and the message is made.
void decide_impossible_pods(benchmark::State& bench) {
  SchedulingWorld world;
  for (std::int64_t i = 0; i < bench.range(0); ++i) {
    world.with(gpu_node(i));
  }
  const PodPtr pod = world.describe(test::pod("big").cpu("1").gpus(16));
  for (auto _ : bench) {
    benchmark::DoNotOptimize(schedule_one(world.framework(), world.state(), pod));
  }
  bench.SetItemsProcessed(bench.iterations());
}
BENCHMARK(decide_impossible_pods)->Arg(100)->Arg(1000)->Arg(5000)->Unit(benchmark::kMicrosecond);

/// Every node is full of low-priority pods of one GPU; an 8-GPU pod evicts.
void decide_preempting_pods(benchmark::State& bench) {
  SchedulingWorld world;
  for (std::int64_t i = 0; i < bench.range(0); ++i) {
    world.with(test::node(fmt::format("gpu-{}", i)).cpu("128").gpus(8));
    for (std::int64_t j = 0; j < 8; ++j) {
      world.with(test::pod(fmt::format("low-{}-{}", i, j)).cpu("1").gpus(1).priority(j),
                 fmt::format("gpu-{}", i));
    }
  }
  const PodPtr pod = world.describe(test::pod("high").cpu("1").gpus(8).priority(1000));
  for (auto _ : bench) {
    benchmark::DoNotOptimize(schedule_one(world.framework(), world.state(), pod));
    world.state().clear_nomination(pod->uid);
  }
  bench.SetItemsProcessed(bench.iterations());
}
BENCHMARK(decide_preempting_pods)->Arg(100)->Arg(1000)->Arg(5000)->Unit(benchmark::kMicrosecond);

} // namespace
} // namespace berth::sched
