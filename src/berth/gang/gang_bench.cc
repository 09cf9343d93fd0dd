// Groups placed whole in one decision and taken back, on 5,000 nodes in racks of 16 and blocks of
// 512: n members with eight GPUs each; and a launcher, n members with eight GPUs and n with two.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "berth/base/assert.h"
#include "berth/gang/gang_plugin.h"
#include "berth/gang/place_group.h"
#include "berth/testing/builders.h"

namespace berth::gang {
namespace {

class Cluster {
 public:
  Cluster() : framework_(make(groups_)) {
    for (int i = 0; i < 5000; ++i) {
      state_.set_node(test::node(fmt::format("n{}", i))
                          .platform("dgx-h100")
                          .label("berth.dev/block", fmt::format("b{}", i / 512))
                          .label("berth.dev/rack", fmt::format("r{}", i / 16))
                          .cpu("128")
                          .gpus(8)
                          .build());
    }
  }

  void add(std::string_view name, int gpus) {
    auto builder = test::pod(name).cpu("8").in_group("g");
    if (gpus > 0) {
      builder.gpus(gpus);
    }
    request_.pending.push_back(state_.describe(builder.build()));
    groups_->set_pod(request_.pending.back());
  }

  void place(benchmark::State& bench) {
    request_.key = {.ns = "default", .name = "g"};
    request_.min_member = std::ssize(request_.pending);
    groups_->set_group(test::pod_group("g", request_.min_member).build());
    sched::Decider decider(framework_, state_);
    std::int64_t trials = 0;
    for (auto _ : bench) {
      const GroupDecision decision = place_group(decider, request_);
      BERTH_ASSERT(decision.placed, "the group fits");
      bench.PauseTiming();
      for (const MemberDecision& member : decision.members) {
        undo_decision(framework_, state_, member.pod, member.decision.node);
      }
      trials = decision.trials;
      bench.ResumeTiming();
    }
    bench.SetItemsProcessed(bench.iterations() * request_.min_member);
    bench.counters["trials"] = static_cast<double>(trials);
  }

 private:
  static sched::Framework make(const std::shared_ptr<Groups>& groups) {
    sched::Registry registry = sched::builtin_plugins();
    BERTH_ASSERT(registry.add(kGangPlugin, gang_plugin(groups)), "");
    sched::Profile profile = sched::default_profile();
    profile.plugins.insert(profile.plugins.begin(),
                           {.name = std::string(kGangPlugin), .weight = 1, .args = {}});
    profile.plugins.push_back({.name = "GpuTopology", .weight = 1, .args = {}});
    auto framework = sched::Framework::make(profile, registry);
    BERTH_ASSERT(framework, to_string(framework.error()));
    return *std::move(framework);
  }

  std::shared_ptr<Groups> groups_ = std::make_shared<Groups>();
  sched::Framework framework_;
  sched::ClusterState state_;
  GroupRequest request_;
};

void place_group_of_8_gpu_members(benchmark::State& bench) {
  Cluster cluster;
  for (std::int64_t i = 0; i < bench.range(0); ++i) {
    cluster.add(fmt::format("w-{}", i), 8);
  }
  cluster.place(bench);
}
BENCHMARK(place_group_of_8_gpu_members)->Arg(4)->Arg(64)->Arg(1000)->Unit(benchmark::kMillisecond);

void place_group_of_three_shapes(benchmark::State& bench) {
  Cluster cluster;
  cluster.add("launcher", 0);
  for (std::int64_t i = 0; i < bench.range(0); ++i) {
    cluster.add(fmt::format("large-{}", i), 8);
    cluster.add(fmt::format("small-{}", i), 2);
  }
  cluster.place(bench);
}
BENCHMARK(place_group_of_three_shapes)->Arg(4)->Arg(64)->Arg(500)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace berth::gang
