// A million pods onto a hundred thousand nodes: time and memory of the whole run, each pod copied
// from a decoded one, named, described, decided and kept.
#include <sys/resource.h>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "berth/sched/decider.h"
#include "berth/testing/scheduling_world.h"

namespace berth::sched {
namespace {

test::NodeBuilder gpu_node(std::int64_t i) {
  auto node = test::node(fmt::format("gpu-{}", i));
  node.cpu("128").memory("1Ti").gpus(8).platform("dgx-h100");
  node.label("topology.kubernetes.io/zone", fmt::format("zone-{}", i % 8));
  return node;
}

double peak_gib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1024.0 * 1024.0);
}

/// Ten pods a node: half without a GPU, four of one GPU, one of two.
void place_pods_ten_a_node(benchmark::State& bench) {
  Profile profile = default_profile();
  profile.plugins.push_back({.name = "GpuTopology", .weight = 1, .args = {}});
  test::SchedulingWorld world(profile);
  Decider decider(world.framework(), world.state());
  const std::int64_t nodes = bench.range(0);
  for (std::int64_t i = 0; i < nodes; ++i) {
    world.with(gpu_node(i));
  }
  const std::shared_ptr<const model::Pod> kinds[] = {
      test::pod("cpu").cpu("4").memory("16Gi").build(),
      test::pod("one").cpu("8").memory("64Gi").gpus(1).build(),
      test::pod("cpu").cpu("2").memory("8Gi").build(),
      test::pod("one").cpu("8").memory("64Gi").gpus(1).build(),
      test::pod("cpu").cpu("4").memory("16Gi").build(),
      test::pod("one").cpu("8").memory("64Gi").gpus(1).build(),
      test::pod("cpu").cpu("2").memory("8Gi").build(),
      test::pod("one").cpu("8").memory("64Gi").gpus(1).build(),
      test::pod("cpu").cpu("4").memory("16Gi").build(),
      test::pod("two").cpu("16").memory("128Gi").gpus(2).build()};
  std::int64_t placed = 0;
  for (auto _ : bench) {
    for (std::int64_t i = 0; i < 10 * nodes; ++i) {
      auto pod = std::make_shared<model::Pod>(*kinds[i % 10]);
      pod->meta.name = fmt::format("pod-{}", i);
      pod->meta.uid = fmt::format("uid-{}", i);
      placed += decider.decide(world.state().describe(std::move(pod))).placed() ? 1 : 0;
    }
  }
  if (placed != 10 * nodes) {
    bench.SkipWithError("some pods were not placed");
  }
  bench.SetItemsProcessed(placed);
  bench.counters["peak_GiB"] = peak_gib();
}
BENCHMARK(place_pods_ten_a_node)
    ->Arg(1000)
    ->Arg(100'000)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

} // namespace
} // namespace berth::sched
