// How long types take to load, and objects to decode.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <benchmark/benchmark.h>

#include "berth/api/json.h"
#include "berth/api/manifest.h"
#include "berth/schema/body.h"
#include "berth/schema/bundle.h"
#include "berth/schema/catalogue.h"
#include "berth/schema/custom_resource.h"

namespace berth::schema {
namespace {

void LoadBuiltinTypes(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(Catalogue::parse(bundle_text()));
  }
}
BENCHMARK(LoadBuiltinTypes)->Unit(benchmark::kMillisecond);

constexpr std::string_view kPod =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"train-0","namespace":"ml","labels":)"
    R"({"app":"train","job-name":"train"}},"spec":{"containers":[{"name":"main","image":)"
    R"("registry.example/train:1","command":["python","train.py"],"env":[{"name":"RANK","value":)"
    R"("0"}],"resources":{"limits":{"nvidia.com/gpu":"8","memory":"1024Gi"},"requests":)"
    R"({"cpu":"96000m"}},"volumeMounts":[{"name":"shm","mountPath":"/dev/shm"}]}],"volumes":)"
    R"([{"name":"shm","emptyDir":{"medium":"Memory"}}],"tolerations":[{"key":"nvidia.com/gpu",)"
    R"("operator":"Exists"}],"restartPolicy":"Never"}})";

void DecodePod(benchmark::State& state) {
  const Resource& pods = *Catalogue::builtin().resource("", "v1", "pods");
  const Expected expected{pods.gvk(), *pods.type};
  for (auto _ : state) {
    benchmark::DoNotOptimize(decode_body(kPod, expected, FieldValidation::Strict));
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kPod.size()));
}
BENCHMARK(DecodePod);

/// The plain parser on the same bytes, to compare with.
void ParsePod(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(api::parse_json(kPod));
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kPod.size()));
}
BENCHMARK(ParsePod);

void LoadLargeDefinition(benchmark::State& state) {
  const char* shared = std::getenv("BERTH_SHARED");
  const std::string file = (shared == nullptr ? BERTH_SOURCE_DIR "/../shared" : shared) +
                           std::string("/inputs/crds/kueue/kueue.x-k8s.io_workloads.yaml");
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const auto manifests = api::read_manifests(text.str(), file);
  if (!manifests || manifests->empty()) {
    state.SkipWithError("no definition of workloads; set BERTH_SHARED");
    return;
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(check_definition(manifests->front().object.json()));
    benchmark::DoNotOptimize(resources_of(manifests->front().object.json()));
  }
}
BENCHMARK(LoadLargeDefinition)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace berth::schema
