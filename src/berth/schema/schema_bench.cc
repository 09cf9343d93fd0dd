// How long the built-in types take to load.
#include <benchmark/benchmark.h>

#include "berth/schema/bundle.h"
#include "berth/schema/catalogue.h"

namespace berth::schema {
namespace {

void LoadBuiltinTypes(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(Catalogue::parse(bundle_text()));
  }
}
BENCHMARK(LoadBuiltinTypes)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace berth::schema
