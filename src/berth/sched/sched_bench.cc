// Decisions a second: mixed GPU pods on a half-full cluster of n nodes, pods that fit nowhere, and
// preemption.
#include <deque>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

using test::SchedulingWorld;

test::NodeBuilder gpu_node(std::int64_t i) {
  auto node = test::node(fmt::format("gpu-{}", i));
  node.cpu("128").memory("1Ti").gpus(8);
  node.label("topology.kubernetes.io/zone", fmt::format("zone-{}", i % 8));
  node.label("nvidia.com/gpu.product", i % 2 == 0 ? "NVIDIA-H100-80GB-HBM3" : "NVIDIA-L40S");
  if (i % 16 == 0) {
    node.taint("reserved", "NoSchedule", "research");
  }
  return node;
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

/// Half of the GPUs are taken; then each placed pod replaces the oldest.
void decide_mixed_gpu_pods(benchmark::State& bench) {
  SchedulingWorld world;
  const std::int64_t nodes = bench.range(0);
  for (std::int64_t i = 0; i < nodes; ++i) {
    world.with(gpu_node(i));
  }
  std::vector<std::shared_ptr<const model::Pod>> shapes;
  for (std::int64_t i = 0; i < 24; ++i) {
    shapes.push_back(gpu_pod(i).build());
  }
  // Ready-made pods: decoding is not what is measured.
  std::int64_t next = 0;
  const auto fresh = [&] {
    auto pod = std::make_shared<PodInfo>(
        *world.state().describe(shapes[static_cast<std::size_t>(next % 24)]));
    pod->uid = fmt::format("uid-{}", next++);
    return PodPtr(std::move(pod));
  };
  std::deque<std::string> running;
  std::int64_t held = 0;
  while (held < nodes * 4) {
    const PodPtr pod = fresh();
    if (schedule_one(world.framework(), world.state(), pod).placed()) {
      held += pod->gpus;
      running.push_back(pod->uid);
    }
  }
  std::vector<PodPtr> waiting;
  for (auto _ : bench) {
    if (waiting.empty()) {
      bench.PauseTiming();
      for (int i = 0; i < 256; ++i) {
        waiting.push_back(fresh());
      }
      bench.ResumeTiming();
    }
    const PodPtr pod = std::move(waiting.back());
    waiting.pop_back();
    if (schedule_one(world.framework(), world.state(), pod).placed()) {
      running.push_back(pod->uid);
    }
    world.state().remove_pod(running.front());
    running.pop_front();
  }
  bench.SetItemsProcessed(bench.iterations());
}
BENCHMARK(decide_mixed_gpu_pods)->Arg(100)->Arg(1000)->Arg(5000)->Unit(benchmark::kMicrosecond);

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
