// Cost of one merge. A GB200 tray has 34 NUMA nodes of which few have anything to give; "sixteen"
// is the most that is enumerated: three resources that can be met on any of 2^16 sets.
#include <benchmark/benchmark.h>

#include "berth/testing/numa_machines.h"
#include "berth/topology/hint_merge.h"
#include "berth/topology/stock_hints.h"

namespace berth::topology {
namespace {

// One resource with things on each of `nodes`; half of them free.
std::vector<Hint> offer(const std::vector<int>& nodes, std::int64_t request) {
  std::vector<Stock> stocks;
  for (const int node : nodes) {
    stocks.push_back({.nodes = NumaMask::single(node), .all = 4, .free = 2});
  }
  return stock_hints(stocks, request).hints;
}

void merge(benchmark::State& state, const Machine& machine,
           const std::vector<std::vector<Hint>>& lists) {
  const MergeRules rules{.all = machine.all_nodes()};
  double combinations = 1;
  for (const auto& list : lists) {
    combinations *= static_cast<double>(list.size());
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(merge_hints(lists, rules, machine));
  }
  state.counters["combinations"] = combinations;
}

void gb200(benchmark::State& state) {
  merge(state, test::gb200_machine(),
        {offer({2, 10, 18, 26}, 4), offer({0, 1}, 2), offer({0, 1}, 3), offer({0, 1}, 1)});
}
BENCHMARK(gb200);

void eight_nodes(benchmark::State& state) {
  const std::vector<int> nodes{0, 1, 2, 3, 4, 5, 6, 7};
  merge(state, test::numa_machine({.sockets = 2, .nodes_per_socket = 4}),
        {offer(nodes, 3), offer(nodes, 5), offer(nodes, 7), offer(nodes, 9)});
}
BENCHMARK(eight_nodes);

void sixteen(benchmark::State& state) {
  std::vector<int> nodes;
  for (int node = 0; node < 16; ++node) {
    nodes.push_back(node);
  }
  merge(state, test::numa_machine({.sockets = 16}),
        {offer(nodes, 3), offer(nodes, 5), offer(nodes, 7)});
}
BENCHMARK(sixteen)->Unit(benchmark::kMillisecond);

void hints_of_sixteen(benchmark::State& state) {
  std::vector<int> nodes;
  for (int node = 0; node < 16; ++node) {
    nodes.push_back(node);
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(offer(nodes, 5));
  }
}
BENCHMARK(hints_of_sixteen)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace berth::topology
