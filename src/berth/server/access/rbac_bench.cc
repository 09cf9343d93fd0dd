// One question to the RBAC index, beside how many bindings there are that do not concern it.
#include <benchmark/benchmark.h>

#include <fmt/format.h>

#include "berth/api/object.h"
#include "berth/server/access/rbac.h"
#include "berth/store/memory_store.h"
#include "berth/store/registry.h"

namespace berth::server {
namespace {

void put(store::Store& store, const std::string& text) {
  const auto object = api::Object::parse(text);
  static_cast<void>(
      store.put(object->json(), 0, [](const api::Object&) { return Result<void>(); }));
}

void authorize(benchmark::State& state) {
  store::MemoryStore store;
  store::Registry registry(store, Rng(1));
  put(store,
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"r",)"
      R"("namespace":"ns"},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]})");
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    put(store,
        fmt::format(R"({{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding",)"
                    R"("metadata":{{"name":"b{0}","namespace":"ns"}},"roleRef":{{"kind":"Role",)"
                    R"("name":"r"}},"subjects":[{{"kind":"User","name":"u{0}"}}]}})",
                    i));
  }
  const auto rbac = Rbac::open(registry).value();
  const User user{.name = "u7", .uid = {}, .groups = {kAuthenticated}, .extra = {}};
  RequestInfo what;
  what.verb = "get";
  what.is_resource = true;
  what.ns = "ns";
  what.resource = "pods";
  what.name = "a";
  for (auto _ : state) {
    benchmark::DoNotOptimize(rbac->authorize(user, what).allowed);
  }
}
BENCHMARK(authorize)->Arg(10)->Arg(1000)->Arg(100000);

} // namespace
} // namespace berth::server
