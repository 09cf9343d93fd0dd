// A group of n members with eight GPUs each, placed whole in one decision and taken back, on 5,000
// nodes in racks of 16 and blocks of 512.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "berth/base/assert.h"
#include "berth/gang/gang_plugin.h"
#include "berth/gang/place_group.h"
#include "berth/testing/builders.h"

namespace berth::gang {
namespace {

void place_group_of_8_gpu_members(benchmark::State& bench) {
  const auto groups = std::make_shared<Groups>();
  sched::Registry registry = sched::builtin_plugins();
  BERTH_ASSERT(registry.add(kGangPlugin, gang_plugin(groups)), "");
  sched::Profile profile = sched::default_profile();
  profile.plugins.insert(profile.plugins.begin(),
                         {.name = std::string(kGangPlugin), .weight = 1, .args = {}});
  profile.plugins.push_back({.name = "GpuTopology", .weight = 1, .args = {}});
  auto framework = sched::Framework::make(profile, registry);
  BERTH_ASSERT(framework, to_string(framework.error()));
  sched::ClusterState state;
  for (int i = 0; i < 5000; ++i) {
    state.set_node(test::node(fmt::format("n{}", i))
                       .platform("dgx-h100")
                       .label("berth.dev/block", fmt::format("b{}", i / 512))
                       .label("berth.dev/rack", fmt::format("r{}", i / 16))
                       .cpu("128")
                       .gpus(8)
                       .build());
  }
  GroupRequest request{.key = {.ns = "default", .name = "g"},
                       .min_member = bench.range(0),
                       .already_placed = 0,
                       .pending = {},
                       .placed_on = {},
                       .options = {}};
  groups->set_group(test::pod_group("g", bench.range(0)).build());
  for (std::int64_t i = 0; i < bench.range(0); ++i) {
    request.pending.push_back(
        state.describe(test::pod(fmt::format("w-{}", i)).cpu("8").gpus(8).in_group("g").build()));
    groups->set_pod(request.pending.back());
  }
  sched::Decider decider(*framework, state);
  for (auto _ : bench) {
    const GroupDecision decision = place_group(decider, request);
    BERTH_ASSERT(decision.placed, "the group fits");
    bench.PauseTiming();
    for (const MemberDecision& member : decision.members) {
      undo_decision(*framework, state, member.pod, member.decision.node);
    }
    bench.ResumeTiming();
  }
  bench.SetItemsProcessed(bench.iterations() * bench.range(0));
}
BENCHMARK(place_group_of_8_gpu_members)->Arg(4)->Arg(64)->Arg(1000)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace berth::gang
