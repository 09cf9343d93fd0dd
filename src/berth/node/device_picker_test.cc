#include "berth/node/device_picker.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"

namespace berth::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Ids = std::vector<std::string>;

// Four healthy devices, "a" and "b" on NUMA node 0, "c" and "d" on node 1.
PickRequest request(std::int64_t required) {
  return {.pod_uid = "u",
          .container = "c",
          .resource = "r.com/d",
          .required = required,
          .registered = true,
          .healthy = {"a", "b", "c", "d"},
          .numa = {{"a", {0}}, {"b", {0}}, {"c", {1}}, {"d", {1}}}};
}

Ids picked(const PickRequest& asked, const Ids& preferred = {}) {
  const auto plan = plan_pick(asked);
  EXPECT_TRUE(plan) << plan.error().message;
  if (!plan) {
    return {};
  }
  const auto ids = finish_pick(*plan, preferred);
  EXPECT_TRUE(ids) << ids.error().message;
  return ids.value_or(Ids());
}

// The checks, each with the kubelet's text, and that an earlier one hides a later one.
struct Refusal {
  const char* name;
  std::function<void(PickRequest&)> change;
  const char* want;
};

class Refusals : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refusals, HaveTheKubeletsText) {
  PickRequest asked = request(2);
  GetParam().change(asked);
  const auto plan = plan_pick(asked);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Refusals,
    ::testing::Values(
        Refusal{"AChangedRequest", [](auto& r) { r.existing = Ids{"a"}; },
                "pod \"u\" container \"c\" changed request for resource \"r.com/d\" from 1 to 2"},
        Refusal{"AChangedRequestBeforeAnythingElse",
                [](auto& r) {
                  r.existing = Ids{"a", "b", "c"};
                  r.registered = false;
                  r.healthy = {};
                },
                "pod \"u\" container \"c\" changed request for resource \"r.com/d\" from 3 to 2"},
        Refusal{"NeverRegistered",
                [](auto& r) {
                  r.registered = false;
                  r.healthy = {};
                },
                "cannot allocate unregistered device r.com/d"},
        Refusal{"NothingHealthy",
                [](auto& r) {
                  r.healthy = {};
                  r.existing = Ids{"a", "b"};
                },
                "no healthy devices present; cannot allocate unhealthy devices r.com/d"},
        Refusal{"WhatItHasIsSick",
                [](auto& r) {
                  r.existing = Ids{"a", "x"};
                },
                "previously allocated devices are no longer healthy; cannot allocate unhealthy "
                "devices r.com/d"},
        Refusal{"TooFew", [](auto& r) { r.required = 5; },
                "requested number of devices unavailable for r.com/d. Requested: 5, Available: 4"},
        Refusal{"TooFewAreFree",
                [](auto& r) {
                  r.held = {"a", "c", "d"};
                },
                "requested number of devices unavailable for r.com/d. Requested: 2, Available: 1"},
        Refusal{"WhatIsReusedIsNotRequestedAnyMore",
                [](auto& r) {
                  r.required = 3;
                  r.held = {"a", "b", "c", "d"};
                  r.reusable = {"d"};
                },
                "requested number of devices unavailable for r.com/d. Requested: 2, Available: 0"},
        Refusal{"TheChoiceIsTaken",
                [](auto& r) {
                  r.chosen = Ids{"a", "b"};
                  r.held = {"b"};
                },
                "requested number of devices unavailable for r.com/d. Requested: 2, Available: 1; "
                "of the chosen devices b is held"},
        Refusal{"TheChoiceIsSickAndTaken",
                [](auto& r) {
                  r.chosen = Ids{"x", "b"};
                  r.held = {"b", "x"};
                },
                "requested number of devices unavailable for r.com/d. Requested: 2, Available: 0; "
                "of the chosen devices x is not healthy, b is held"},
        Refusal{"TheChoiceIsTooSmall", [](auto& r) { r.chosen = Ids{"a"}; },
                "requested number of devices unavailable for r.com/d. Requested: 2, Available: "
                "1"}),
    [](const auto& test) { return test.param.name; });

TEST(Picking, NothingIsLeftToDoForWhatItHas) {
  PickRequest asked = request(2);
  asked.existing = Ids{"a", "b"};
  asked.held = {"a", "b", "c", "d"};
  const auto plan = plan_pick(asked);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->complete());
  EXPECT_FALSE(plan->question());
}

TEST(Picking, NoneIsNone) {
  const auto plan = plan_pick(request(0));
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->complete());
  EXPECT_THAT(finish_pick(*plan, {"a"}).value(), IsEmpty());
}

struct Order {
  const char* name;
  std::function<void(PickRequest&)> change;
  Ids preferred;
  Ids want;
};

class Orders : public ::testing::TestWithParam<Order> {};

TEST_P(Orders, OfAllocation) {
  PickRequest asked = request(2);
  GetParam().change(asked);
  EXPECT_EQ(picked(asked, GetParam().preferred), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Orders,
    ::testing::Values(
        Order{"ThePluginsOrder",
              [](auto& r) {
                r.healthy = {"d", "b", "a", "c"};
              },
              {},
              {"d", "b"}},
        Order{"NotWhatOthersHave",
              [](auto& r) {
                r.held = {"a", "c"};
              },
              {},
              {"b", "d"}},
        Order{"WhatItLeftItselfComesFirst",
              [](auto& r) {
                r.held = {"a", "d"};
                r.reusable = {"d"};
              },
              {},
              {"d", "b"}},
        Order{"WhatItLeftMayBeEnough",
              [](auto& r) {
                r.held = {"b", "c", "d"};
                r.reusable = {"b", "c", "d"};
              },
              {},
              {"b", "c"}},
        Order{"WhatItLeftAndIsSickIsNotUsed", [](auto& r) { r.reusable = {"x"}; }, {}, {"a", "b"}},
        Order{"ThePreferred", [](auto&) {}, {"d", "c"}, {"d", "c"}},
        Order{"AsMuchAsIsPreferred", [](auto&) {}, {"c"}, {"c", "a"}},
        Order{"NoMoreThanAsked", [](auto&) {}, {"d", "c", "b"}, {"d", "c"}},
        Order{"NothingThatMayNotBeUsed",
              [](auto& r) { r.held = {"d"}; },
              {"d", "x", "c", "c"},
              {"c", "a"}},
        Order{"TheSchedulersChoiceInItsOrder",
              [](auto& r) {
                r.chosen = Ids{"d", "a"};
              },
              {"b", "c"},
              {"d", "a"}},
        Order{"OfALargerChoiceThePreferred",
              [](auto& r) {
                r.chosen = Ids{"d", "a", "b"};
              },
              {"c", "b"},
              {"b", "d"}},
        Order{"AlignedFirst",
              [](auto& r) { r.hint = std::set<std::int64_t>{1}; },
              {"a", "b"},
              {"c", "d"}},
        Order{"PreferredAmongAligned",
              [](auto& r) {
                r.required = 1;
                r.hint = std::set<std::int64_t>{1};
              },
              {"a", "d"},
              {"d"}},
        Order{"AllAlignedThenPreferredOthers",
              [](auto& r) {
                r.required = 3;
                r.hint = std::set<std::int64_t>{1};
              },
              {"b"},
              {"c", "d", "b"}},
        Order{"UnalignedBeforeThoseWithoutTopology",
              [](auto& r) {
                r.required = 3;
                r.healthy = {"n", "a", "c", "d"};
                r.hint = std::set<std::int64_t>{1};
              },
              {},
              {"c", "d", "a"}},
        Order{"TheSmallerNodeFirst",
              [](auto& r) {
                r.healthy = {"a", "b", "c"};
                r.required = 1;
                r.hint = std::set<std::int64_t>{0, 1};
              },
              {},
              {"c"}},
        Order{"ADeviceOnTwoNodesCountsWithTheFirst",
              [](auto& r) {
                r.healthy = {"a", "m", "c"};
                r.numa = {{"a", {0}}, {"m", {0, 1}}, {"c", {1}}};
                r.hint = std::set<std::int64_t>{1};
              },
              {},
              {"m", "c"}},
        Order{"AHintWithoutTopologySaysNothing",
              [](auto& r) {
                r.numa = {};
                r.hint = std::set<std::int64_t>{1};
              },
              {},
              {"a", "b"}}),
    [](const auto& test) { return test.param.name; });

TEST(Questions, AreAskedOnlyWhereThereIsAChoice) {
  EXPECT_TRUE(plan_pick(request(3))->question());
  EXPECT_FALSE(plan_pick(request(4))->question()) << "all are taken anyway";
  PickRequest exact = request(2);
  exact.hint = std::set<std::int64_t>{1};
  EXPECT_FALSE(plan_pick(exact)->question()) << "exactly the aligned ones";
}

TEST(Questions, AmongTheAlignedWhereTheyAreEnough) {
  PickRequest asked = request(1);
  asked.hint = std::set<std::int64_t>{1};
  const auto question = plan_pick(asked)->question();
  ASSERT_TRUE(question);
  EXPECT_THAT(question->available, ElementsAre("c", "d"));
  EXPECT_THAT(question->must_include, IsEmpty());
  EXPECT_EQ(question->allocation_size, 1);
}

TEST(Questions, NameWhatIsTakenAlready) {
  PickRequest asked = request(3);
  asked.held = {"a"};
  asked.reusable = {"a"};
  const auto question = plan_pick(asked)->question();
  ASSERT_TRUE(question);
  EXPECT_THAT(question->available, ::testing::UnorderedElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(question->must_include, ElementsAre("a"));
  EXPECT_EQ(question->allocation_size, 3);
}

TEST(Questions, AllAlignedMustBeWhereTheyAreTooFew) {
  PickRequest asked = request(3);
  asked.hint = std::set<std::int64_t>{0};
  const auto question = plan_pick(asked)->question();
  ASSERT_TRUE(question);
  EXPECT_THAT(question->must_include, ElementsAre("a", "b"));
  EXPECT_EQ(question->allocation_size, 3);
}

TEST(Finishing, FewerThanRequiredIsAnError) {
  const PickPlan plan{.picked = {"a"}, .no_affinity = {"b"}, .needed = 2, .required = 3};
  const auto ids = finish_pick(plan, {});
  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.error().message,
            "unexpectedly allocated less resources than required. Requested: 3, Got: 2");
}

TEST(Missing, IsWhatOthersHoldOfWhatMayBeUsed) {
  PickRequest asked = request(2);
  asked.held = {"a", "b", "d", "x"};
  asked.reusable = {"b"};
  EXPECT_THAT(missing_devices(asked), ElementsAre("a", "d"));
  asked.chosen = Ids{"d", "x"};
  EXPECT_THAT(missing_devices(asked), ElementsAre("d"));
}

// Whatever is asked, the answer is as many distinct devices as asked, each of which may be used.
TEST(Picking, GivesWhatMayBeGiven) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Rng rng(seed);
    PickRequest asked{.pod_uid = "u", .container = "c", .resource = "r", .registered = true};
    Ids preferred;
    for (int i = 0; i < 8; ++i) {
      const std::string id = fmt::format("d{}", i);
      if (rng.chance(3, 4)) {
        asked.healthy.push_back(id);
      }
      if (rng.chance(1, 3)) {
        asked.held.insert(id);
        if (rng.chance(1, 3)) {
          asked.reusable.insert(id);
        }
      }
      if (rng.chance(1, 2)) {
        asked.numa[id] = {rng.between(0, 2)};
      }
      if (rng.chance(1, 2)) {
        preferred.insert(preferred.begin(), id);
      }
    }
    if (rng.chance(1, 2)) {
      asked.hint = std::set<std::int64_t>{rng.between(0, 2)};
    }
    if (rng.chance(1, 4)) {
      asked.chosen = Ids{"d1", "d5", "d2", "d0"};
    }
    asked.required = rng.between(1, 6);
    std::set<std::string> usable;
    for (const std::string& id : asked.healthy) {
      const bool chosen =
          !asked.chosen || std::ranges::find(*asked.chosen, id) != asked.chosen->end();
      if (chosen && (!asked.held.contains(id) || asked.reusable.contains(id))) {
        usable.insert(id);
      }
    }
    const auto plan = plan_pick(asked);
    ASSERT_EQ(plan.has_value(),
              !asked.healthy.empty() && static_cast<std::int64_t>(usable.size()) >= asked.required)
        << "seed " << seed;
    if (!plan) {
      continue;
    }
    const auto ids = finish_pick(*plan, preferred);
    ASSERT_TRUE(ids) << "seed " << seed << ": " << ids.error().message;
    const std::set<std::string> distinct(ids->begin(), ids->end());
    EXPECT_EQ(static_cast<std::int64_t>(ids->size()), asked.required) << "seed " << seed;
    EXPECT_EQ(distinct.size(), ids->size()) << "seed " << seed;
    EXPECT_TRUE(std::ranges::includes(usable, distinct)) << "seed " << seed;
    if (const auto question = plan->question()) {
      for (const std::string& id : question->must_include) {
        EXPECT_TRUE(distinct.contains(id)) << "seed " << seed;
        EXPECT_NE(std::ranges::find(question->available, id), question->available.end());
      }
    }
  }
}

} // namespace
} // namespace berth::node
