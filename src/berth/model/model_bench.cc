// Decoding of typed views and the effective request, per pod.
#include <benchmark/benchmark.h>

#include "berth/model/requests.h"
#include "berth/testing/builders.h"

namespace berth::model {
namespace {

test::PodBuilder sample() {
  test::PodBuilder builder = test::pod("worker-1");
  builder.cpu("96").memory("1Ti").gpus(8).image("registry.example.com/team/trainer:2024.06");
  builder.label("app.kubernetes.io/name", "llm").label("batch.kubernetes.io/job-name", "llm");
  builder.node_selector("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3")
      .tolerates("nvidia.com/gpu");
  builder.in_group("llm").priority(1000).scheduler("berth").run_for("2h");
  builder.sidecar("logs").cpu("100m").memory("128Mi");
  return builder;
}

void decode_one_pod(benchmark::State& state) {
  const api::json::value document(sample().document());
  for (auto _ : state) {
    benchmark::DoNotOptimize(decode_pod(document));
  }
}
BENCHMARK(decode_one_pod);

void effective_request(benchmark::State& state) {
  const auto pod = sample().build();
  for (auto _ : state) {
    benchmark::DoNotOptimize(effective_requests(pod->spec));
  }
}
BENCHMARK(effective_request);

} // namespace
} // namespace berth::model
