// Cost of a choice, worst case: half of all GPUs of an idle machine. Counter "candidates" is what
// was compared.
#include <benchmark/benchmark.h>

#include "berth/hardware/bandwidth.h"
#include "berth/hardware/choose.h"
#include "berth/testing/synthetic_platforms.h"

namespace berth::hardware {
namespace {

void choose(benchmark::State& state, const Platform& platform) {
  const auto n = static_cast<int>(platform.gpus.size());
  const GpuMask all = (GpuMask{1} << n) - 1;
  for (auto _ : state) {
    benchmark::DoNotOptimize(choose_gpus(platform, all, (n + 1) / 2, ChoicePolicy::Topology));
  }
  double candidates = 1;
  for (int i = 1; i <= (n + 1) / 2; ++i) {
    candidates = candidates * (n - i + 1) / i;
  }
  state.counters["candidates"] = candidates;
}

Platform sixteen() {
  berth::test::SyntheticPlatform s(16, 2, 2);
  for (int i = 0; i < 16; i += 2) {
    s.nvlink(i, i + 1, 4);
  }
  return s.finish();
}

void predict(benchmark::State& state, const Platform& platform) {
  GpuMask gpus = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(all_reduce_mbps(platform, ++gpus));
  }
}

void predict_group(benchmark::State& state) {
  const auto& p = *Catalogue::builtin().find("dgx-h100");
  const std::vector<NodePart> parts(static_cast<std::size_t>(state.range(0)),
                                    NodePart{.platform = &p, .gpus = 0xff});
  for (auto _ : state) {
    benchmark::DoNotOptimize(group_all_reduce_mbps(parts));
  }
}

void load_sixteen(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(sixteen());
  }
}

const bool kRegistered = [] {
  static const Platform large = sixteen();
  for (const auto& name : Catalogue::builtin().names()) {
    benchmark::RegisterBenchmark(("choose_gpus/" + name).c_str(), [name](benchmark::State& s) {
      choose(s, *Catalogue::builtin().find(name));
    });
  }
  benchmark::RegisterBenchmark("choose_gpus/synthetic-16",
                               [](benchmark::State& s) { choose(s, large); });
  benchmark::RegisterBenchmark("all_reduce/dgx-h100", [](benchmark::State& s) {
    predict(s, *Catalogue::builtin().find("dgx-h100"));
  });
  benchmark::RegisterBenchmark("all_reduce/synthetic-16",
                               [](benchmark::State& s) { predict(s, large); });
  benchmark::RegisterBenchmark("group_all_reduce/dgx-h100", predict_group)->Arg(2)->Arg(32);
  benchmark::RegisterBenchmark("load/synthetic-16", load_sixteen)->Unit(benchmark::kMillisecond);
  return true;
}();

} // namespace
} // namespace berth::hardware
