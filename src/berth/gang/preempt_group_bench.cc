// Planning the preemption for a group of n members with eight GPUs each on 5,000 nodes that others
// fill: eight single pods a node, or groups of sixteen members.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "berth/base/assert.h"
#include "berth/gang/preemption_fixture.h"

namespace berth::gang {
namespace {

constexpr int kNodes = 5000;

test::NodeBuilder rack_node(int i) {
  return PreemptionWorld::machine(fmt::format("n{}", i), "dgx-h100", 8)
      .label("berth.dev/block", fmt::format("b{}", i / 512))
      .label("berth.dev/rack", fmt::format("r{}", i / 16));
}

void plan(benchmark::State& bench, PreemptionWorld& world, std::int64_t members,
          std::int64_t expected) {
  world.group("big", members);
  const auto pending = world.gang("big", static_cast<int>(members), 8);
  sched::Decider decider(world.framework(), world.state());
  const GroupRequest request = world.request(pending);
  for (auto _ : bench) {
    const GroupPreemption found = plan_for_group(decider, world.groups(), request);
    BERTH_ASSERT(found.plan.has_value() == (expected > 0), "");
    BERTH_ASSERT(!found.plan || std::ssize(found.plan->victims()) == expected, "");
  }
  bench.SetItemsProcessed(bench.iterations() * members);
}

void preempt_single_pods(benchmark::State& bench) {
  PreemptionWorld world;
  for (int i = 0; i < kNodes; ++i) {
    world.with(rack_node(i));
    for (int p = 0; p < 8; ++p) {
      world.runs(PreemptionWorld::pod(fmt::format("p{}-{}", i, p), 1).priority(i % 7),
                 fmt::format("n{}", i));
    }
  }
  plan(bench, world, bench.range(0), bench.range(0) * 8);
}
BENCHMARK(preempt_single_pods)->Arg(4)->Arg(64)->Arg(1000)->Unit(benchmark::kMillisecond);

void preempt_groups_of_16(benchmark::State& bench) {
  PreemptionWorld world;
  for (int i = 0; i < kNodes; ++i) {
    const std::string name = fmt::format("g{}", i / 16);
    world.with(rack_node(i)).group(name, i / 16 == kNodes / 16 ? kNodes % 16 : 16);
    world.runs(PreemptionWorld::pod(fmt::format("p{}", i), 8).in_group(name).priority(i / 16 % 7),
               fmt::format("n{}", i));
  }
  plan(bench, world, bench.range(0), (bench.range(0) + 15) / 16 * 16);
}
BENCHMARK(preempt_groups_of_16)->Arg(16)->Arg(64)->Arg(1000)->Unit(benchmark::kMillisecond);

/// One node too few could be made free: nobody is evicted, and that should cost little.
void preempt_in_vain(benchmark::State& bench) {
  PreemptionWorld world;
  for (int i = 0; i < kNodes; ++i) {
    world.with(rack_node(i));
    world.runs(PreemptionWorld::pod(fmt::format("p{}", i), 8).priority(i < 999 ? 0 : 1000),
               fmt::format("n{}", i));
  }
  plan(bench, world, 1000, 0);
}
BENCHMARK(preempt_in_vain)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace berth::gang
