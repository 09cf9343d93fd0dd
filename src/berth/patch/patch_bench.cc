// What patches and the tracking of owners cost for a pod and its writers.
#include <benchmark/benchmark.h>

#include <fmt/format.h>

#include "berth/patch/patch_fixture.h"
#include "berth/patch/request.h"

namespace berth::patch {
namespace {

/// A pod of `containers` containers as a cluster has them.
json::value pod_of(std::int64_t containers) {
  std::string list;
  for (std::int64_t i = 0; i < containers; ++i) {
    list += fmt::format(
        R"({}{{"name":"c{}","image":"x","env":[{{"name":"A","value":"1"}},{{"name":"B","value":"2"}}],
           "resources":{{"limits":{{"nvidia.com/gpu":"1"}}}},"terminationMessagePolicy":"File"}})",
        i == 0 ? "" : ",", i);
  }
  return test::from(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"d",)"
                    R"("uid":"u","labels":{"a":"b","c":"d"}},"spec":{"containers":[)" +
                    list + R"(],"restartPolicy":"Always"},"status":{"phase":"Pending"}})");
}

struct Case {
  Target target = test::builtin("", "v1", "Pod");
  Writer writer{.manager = "one", .subresource = "", .now = TimePoint::from_unix_seconds(1)};
  json::value live;

  explicit Case(std::int64_t containers)
      : live(track_update(target, target.zero, pod_of(containers), writer)) {}
};

void TrackUpdate(benchmark::State& state) {
  const Case given(state.range(0));
  json::value updated = given.live;
  updated.at("metadata").at("labels").as_object()["a"] = "x";
  for (auto _ : state) {
    benchmark::DoNotOptimize(track_update(given.target, given.live, updated, given.writer));
  }
}
BENCHMARK(TrackUpdate)->Arg(1)->Arg(20);

void TrackCreate(benchmark::State& state) {
  const Case given(state.range(0));
  const json::value created = pod_of(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(track_update(given.target, given.target.zero, created, given.writer));
  }
}
BENCHMARK(TrackCreate)->Arg(1)->Arg(20);

void Apply(benchmark::State& state) {
  const Case given(state.range(0));
  const json::value applied = pod_of(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        apply(given.target, given.live, applied, given.writer, Conflicts::Forced));
  }
}
BENCHMARK(Apply)->Arg(1)->Arg(20);

void StrategicMerge(benchmark::State& state) {
  const Case given(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(patched(PatchKind::StrategicMerge, given.live,
                                     R"({"spec":{"containers":[{"name":"c0","image":"y"}]}})",
                                     *given.target.type));
  }
}
BENCHMARK(StrategicMerge)->Arg(1)->Arg(20);

void JsonPatch(benchmark::State& state) {
  const Case given(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(patched(
        PatchKind::Json, given.live,
        R"([{"op":"replace","path":"/metadata/labels/a","value":"x"}])", *given.target.type));
  }
}
BENCHMARK(JsonPatch)->Arg(1)->Arg(20);

} // namespace
} // namespace berth::patch
