#include "berth/controllers/node/eviction_time.h"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace berth::controllers {
namespace {

constexpr std::int64_t kStart = 1'700'000'000;

model::Taint taint(std::string key, std::optional<std::int64_t> added = 100,
                   std::string effect = "NoExecute") {
  model::Taint out{
      .key = std::move(key), .value = "", .effect = std::move(effect), .time_added = {}};
  if (added) {
    out.time_added = TimePoint::from_unix_seconds(kStart + *added);
  }
  return out;
}

model::Toleration exists(std::string key, std::optional<std::int64_t> seconds = {}) {
  return {.key = std::move(key),
          .op = "Exists",
          .value = "",
          .effect = "NoExecute",
          .toleration_seconds = seconds};
}

struct EvictionCase {
  const char* name;
  std::vector<model::Taint> taints;
  std::vector<model::Toleration> tolerations;
  std::optional<std::int64_t> want; ///< seconds after the start; the pod was bound at 50
};

class Eviction : public testing::TestWithParam<EvictionCase> {};

TEST_P(Eviction, HasItsTime) {
  model::Pod pod;
  pod.spec.tolerations = GetParam().tolerations;
  pod.status.conditions = {{.type = "PodScheduled",
                            .status = "True",
                            .last_transition_time = TimePoint::from_unix_seconds(kStart + 50)}};
  model::Node node;
  node.taints = GetParam().taints;
  const auto got = eviction_time(pod, node);
  EXPECT_EQ(got ? std::optional(got->unix_seconds() - kStart) : std::nullopt, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Eviction,
    testing::Values(
        EvictionCase{"no_taints", {}, {}, {}},
        EvictionCase{"other_effects",
                     {taint("a", 100, "NoSchedule"), taint("a", 100, "PreferNoSchedule")},
                     {},
                     {}},
        EvictionCase{"not_tolerated", {taint("a")}, {}, 100},
        EvictionCase{"bound_after_the_taint", {taint("a", 10)}, {}, 50},
        EvictionCase{"taint_without_a_time", {taint("a", std::nullopt)}, {}, 50},
        EvictionCase{"tolerated_for_good", {taint("a")}, {exists("a")}, {}},
        EvictionCase{"tolerated_for_a_while", {taint("a")}, {exists("a", 300)}, 400},
        EvictionCase{
            "one_of_two_not_tolerated", {taint("a"), taint("b", 200)}, {exists("a", 300)}, 200},
        EvictionCase{"the_shortest_counts",
                     {taint("a"), taint("b")},
                     {exists("a", 300), exists("b", 20)},
                     120},
        EvictionCase{"each_from_its_own_time",
                     {taint("a", 100), taint("b", 500)},
                     {exists("a", 300), exists("b", 20)},
                     400},
        EvictionCase{"negative_is_at_once", {taint("a")}, {exists("a", -5)}, 100},
        EvictionCase{"the_first_match_is_the_one_used",
                     {taint("a")},
                     {exists("a", 300), exists("a", 20)},
                     400},
        EvictionCase{"everything_tolerated", {taint("a"), taint("b")}, {exists("")}, {}}),
    [](const auto& c) { return c.param.name; });

TEST(Eviction, AnUnknownBindingCountsFromCreation) {
  model::Pod pod;
  pod.meta.creation_timestamp = TimePoint::from_unix_seconds(kStart + 70);
  model::Node node;
  node.taints = {taint("a", std::nullopt)};
  EXPECT_EQ(eviction_time(pod, node), TimePoint::from_unix_seconds(kStart + 70));
}

} // namespace
} // namespace berth::controllers
