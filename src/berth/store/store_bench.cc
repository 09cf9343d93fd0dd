// What a write costs, and what many watches add to it.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/store/memory_store.h"
#include "berth/store/registry.h"

namespace berth::store {
namespace {

const TimePoint kNow = TimePoint::from_unix_seconds(1'700'000'000);

api::Object training_pod(std::int64_t i) {
  return api::Object::parse(
             fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"worker-{}",)"
                         R"("namespace":"train","labels":{{"job-name":"llm","role":"worker"}},)"
                         R"("annotations":{{"berth.dev/run-for":"1h"}}}},"spec":{{"containers":[)"
                         R"({{"name":"main","image":"repo/train:1.2","command":["python","t.py"],)"
                         R"("env":[{{"name":"RANK","value":"{}"}}],"resources":{{"limits":)"
                         R"({{"nvidia.com/gpu":"8","cpu":"64","memory":"512Gi"}}}}}}],)"
                         R"("restartPolicy":"Never","nodeSelector":{{"gpu":"h100"}}}}}})",
                         i, i))
      .value();
}

/// A registry with pods, all bound over `nodes`, and a watch for each node.
struct Cluster {
  explicit Cluster(std::int64_t pods, std::int64_t nodes, std::int64_t watches) {
    for (std::int64_t i = 0; i < pods; ++i) {
      const auto made = registry.create(training_pod(i), kNow).value();
      (void)registry.bind({.pod = made.key(), .node = fmt::format("n{}", i % nodes)}, kNow);
    }
    for (std::int64_t i = 0; i < watches; ++i) {
      watching.push_back(registry
                             .watch({.what = {.kind = kPods, .node = fmt::format("n{}", i)},
                                     .since = store.revision()},
                                    [this](const WatchEvent&) { ++events; })
                             .value());
    }
  }
  MemoryStore store;
  Registry registry{store, Rng(1)};
  std::vector<std::unique_ptr<Subscription>> watching;
  std::int64_t events = 0;
};

void create_pod(benchmark::State& state) {
  auto cluster = std::make_unique<Cluster>(0, 1, 0);
  std::vector<api::Object> pods;
  for (std::int64_t i = 0; i < 5000; ++i) {
    pods.push_back(training_pod(i));
  }
  std::size_t next = 0;
  for (auto _ : state) {
    if (next == pods.size()) {
      state.PauseTiming();
      cluster = std::make_unique<Cluster>(0, 1, 0);
      next = 0;
      state.ResumeTiming();
    }
    benchmark::DoNotOptimize(cluster->registry.create(pods[next++], kNow));
  }
}
BENCHMARK(create_pod);

/// A status write among 5,000 pods on 1,000 nodes, with so many watches of one node each.
void patch_status(benchmark::State& state) {
  Cluster cluster(5000, 1000, state.range(0));
  const api::json::value running =
      api::parse_json(
          R"({"status":{"phase":"Running","startTime":"2023-11-14T22:13:20Z","conditions":[)"
          R"({"type":"PodScheduled","status":"True"},{"type":"Ready","status":"True"}]}})")
          .value();
  const api::json::value pending =
      api::parse_json(R"({"status":{"phase":"Pending","startTime":null}})").value();
  std::int64_t i = 0;
  for (auto _ : state) {
    const api::Key key{"train", fmt::format("worker-{}", i % 5000)};
    benchmark::DoNotOptimize(cluster.registry.patch(
        kPods, key, (i / 5000) % 2 == 0 ? running : pending, Subresource::Status, kNow));
    ++i;
  }
  state.counters["events per write"] =
      static_cast<double>(cluster.events) / static_cast<double>(std::max<std::int64_t>(i, 1));
}
BENCHMARK(patch_status)->ArgName("watches")->Arg(0)->Arg(1)->Arg(100)->Arg(1000);

void patch_nothing_new(benchmark::State& state) {
  Cluster cluster(5000, 1000, 0);
  const api::json::value same = api::parse_json(R"({"status":{"phase":"Pending"}})").value();
  std::int64_t i = 0;
  for (auto _ : state) {
    const api::Key key{"train", fmt::format("worker-{}", i++ % 5000)};
    benchmark::DoNotOptimize(cluster.registry.patch(kPods, key, same, Subresource::Status, kNow));
  }
}
BENCHMARK(patch_nothing_new);

void list_one_nodes_pods(benchmark::State& state) {
  Cluster cluster(5000, 1000, 0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(cluster.registry.list({.kind = kPods, .node = "n7"}));
  }
}
BENCHMARK(list_one_nodes_pods);

/// One pod from creation to deletion: create, bind, ten status writes, delete, let go.
void life_of_a_pod(benchmark::State& state) {
  Cluster cluster(5000, 1000, 1000);
  std::vector<api::json::value> steps;
  for (int i = 0; i < 10; ++i) {
    steps.push_back(
        api::parse_json(fmt::format(R"({{"status":{{"message":"step {}"}}}})", i)).value());
  }
  std::int64_t next = 5000;
  std::int64_t writes = 0;
  for (auto _ : state) {
    const std::uint64_t before = cluster.store.revision();
    const auto pod = cluster.registry.create(training_pod(next), kNow).value();
    (void)cluster.registry.bind({.pod = pod.key(), .node = fmt::format("n{}", next % 1000)}, kNow);
    for (const api::json::value& step : steps) {
      (void)cluster.registry.patch(kPods, pod.key(), step, Subresource::Status, kNow);
    }
    (void)cluster.registry.remove(kPods, pod.key(), {}, kNow);
    (void)cluster.registry.remove(kPods, pod.key(), {.grace_period_seconds = 0}, kNow);
    writes += static_cast<std::int64_t>(cluster.store.revision() - before);
    ++next;
  }
  state.SetItemsProcessed(writes);
}
BENCHMARK(life_of_a_pod);

} // namespace
} // namespace berth::store
