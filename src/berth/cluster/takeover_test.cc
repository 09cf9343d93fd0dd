// A cluster ends in the middle of things and another goes on over the same store, on a loop that
// does not stop: what a process does that loses the lead, or wins it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "berth/api/json.h"
#include "berth/base/virtual_loop.h"
#include "berth/cluster/cluster.h"
#include "berth/store/memory_store.h"

namespace berth::cluster {
namespace {

api::Manifest pod(int number) {
  return {.object = *api::Object::parse(fmt::format(
              R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p{}","namespace":"default",)"
              R"("annotations":{{"berth.dev/run-for":"20s"}}}},"spec":{{"restartPolicy":"Never",)"
              R"("containers":[{{"name":"c","image":"x","resources":{{"limits":)"
              R"({{"nvidia.com/gpu":"4"}}}}}}]}}}})",
              number))};
}

class Takeover : public ::testing::TestWithParam<int> {};

TEST_P(Takeover, TheNextClusterFinishesWhatTheLastBegan) {
  VirtualLoop loop(TimePoint::from_unix_seconds(1'700'000'000));
  store::MemoryStore store;
  ClusterSpec spec;
  spec.groups.push_back(*parse_node_group("dgx-h100:2"));
  const auto make = [&](std::uint64_t seed) {
    return std::make_unique<Cluster>(loop, spec, ClusterOptions{.seed = seed, .store = &store});
  };
  auto cluster = make(1);
  std::vector<api::Manifest> pods;
  for (int i = 0; i < 12; ++i) {
    pods.push_back(pod(i));
  }
  cluster->apply(pods, [](const std::vector<Applied>&) {});
  for (std::uint64_t seed = 2; seed < 6; ++seed) {
    loop.run_until(loop.now() + Duration::millis(GetParam()));
    cluster.reset();
    loop.run_until(loop.now() + Duration::millis(GetParam() / 2)); // what was under way arrives
    cluster = make(seed);
  }
  loop.run_until(loop.now() + Duration::minutes(10));
  const auto list = store.list({.kind = store::kPods});
  ASSERT_EQ(list.items.size(), 12u);
  for (const api::Object& one : list.items) {
    EXPECT_THAT(std::string(api::string_at(one.json(), "status.phase")),
                ::testing::AnyOf("Succeeded", "Failed"))
        << one.meta().name;
  }
}

INSTANTIATE_TEST_SUITE_P(After, Takeover,
                         ::testing::Values(0, 1, 3, 10, 50, 300, 1000, 7000, 15'000),
                         [](const auto& one) { return fmt::format("{}ms", one.param); });

} // namespace
} // namespace berth::cluster
