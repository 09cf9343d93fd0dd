// One whole packing experiment: 1,213 nodes, 10,866 arrivals, default workload, seed 42. Skipped
// where the openb tables are not at hand.
#include <cstdlib>
#include <filesystem>

#include <benchmark/benchmark.h>

#include "berth/trace/openb_experiments.h"

namespace berth::trace {
namespace {

std::filesystem::path openb() {
  const char* shared = std::getenv("BERTH_SHARED");
  return std::filesystem::path(shared != nullptr ? shared : BERTH_SOURCE_DIR "/../shared") /
         "data/openb";
}

void pack_openb(benchmark::State& bench, const char* policy) {
  const auto nodes = read_nodes(openb() / "openb_node_list_gpu_node.csv");
  const auto pods = read_pods(openb() / "openb_pod_list_default.csv");
  if (!nodes || !pods) {
    bench.SkipWithError("no openb tables; set BERTH_SHARED");
    return;
  }
  const auto order = read_order(openb() / "orders/default-42.txt.gz", nodes->size(), pods->size());
  std::vector<sched::GpuDemand> demands;
  for (const TracePod& pod : *pods) {
    demands.push_back(pod.demand);
  }
  const auto target = sched::typical_pods(demands);
  for (auto _ : bench) {
    const auto result =
        run_arrivals(*nodes, *pods, *order, packing_profile(policy, target), target);
    bench.counters["held_percent"] =
        100 * static_cast<double>(result->held()) / static_cast<double>(result->total);
    bench.counters["turned_away"] = static_cast<double>(result->turned_away);
  }
  bench.SetItemsProcessed(bench.iterations() * std::ssize(order->pods));
}
BENCHMARK_CAPTURE(pack_openb, FGD, "FGD")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_openb, BidPrice, "BidPrice")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_openb, BestFit, "BestFit")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_openb, DotProduct, "DotProduct")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_openb, GpuPacking, "GpuPacking")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pack_openb, GpuClustering, "GpuClustering")->Unit(benchmark::kMillisecond);

} // namespace
} // namespace berth::trace
