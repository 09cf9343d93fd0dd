#include "berth/controllers/gc/graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"
#include "berth/testing/builders.h"

namespace berth::controllers {
namespace {

namespace json = api::json;
using testing::ElementsAre;
using testing::IsEmpty;

api::Object object(const std::string& uid, const std::vector<std::string>& owners) {
  return test::pod("p-" + uid)
      .uid(uid)
      .edit([&](json::object& document) {
        json::array references;
        for (const std::string& owner : owners) {
          references.push_back(json::object{
              {"apiVersion", "v1"}, {"kind", "Pod"}, {"name", "p-" + owner}, {"uid", owner}});
        }
        document["metadata"].as_object()["ownerReferences"] = std::move(references);
      })
      .object();
}

TEST(OwnerGraphTest, KnowsDependentsByUid) {
  OwnerGraph graph;
  graph.put(object("b", {"a"}));
  graph.put(object("c", {"a", "b"}));
  EXPECT_THAT(graph.dependents_of("a"), ElementsAre("b", "c")) << "the owner itself may be unknown";
  EXPECT_THAT(graph.dependents_of("b"), ElementsAre("c"));
  EXPECT_EQ(graph.find("a"), nullptr);
  graph.put(object("c", {"b"}));
  EXPECT_THAT(graph.dependents_of("a"), ElementsAre("b")) << "c let go of it";
  graph.erase("b");
  EXPECT_THAT(graph.dependents_of("a"), IsEmpty());
  EXPECT_THAT(graph.dependents_of("b"), ElementsAre("c")) << "c still names it";
  graph.erase("never seen");
  graph.erase("c");
  EXPECT_TRUE(graph.empty());
  EXPECT_THAT(graph.dependents_of("b"), IsEmpty());
}

TEST(OwnerGraphTest, AgreesWithAPlainScan) {
  Rng rng(3);
  OwnerGraph graph;
  std::map<std::string, std::vector<std::string>> plain;
  for (int step = 0; step < 2000; ++step) {
    const std::string uid = fmt::format("{}", rng.below(12));
    if (rng.chance(1, 3)) {
      graph.erase(uid);
      plain.erase(uid);
    } else {
      std::vector<std::string> owners;
      for (int i = 0; i < 3; ++i) {
        if (rng.chance(1, 2)) {
          owners.push_back(fmt::format("{}", rng.below(12)));
        }
      }
      graph.put(object(uid, owners));
      plain[uid] = owners;
    }
    for (int owner = 0; owner < 12; ++owner) {
      const std::string name = fmt::format("{}", owner);
      std::set<std::string> want;
      for (const auto& [dependent, owners] : plain) {
        if (std::ranges::find(owners, name) != owners.end()) {
          want.insert(dependent);
        }
      }
      ASSERT_EQ(graph.dependents_of(name), want) << "step " << step << " owner " << name;
      ASSERT_EQ(graph.find(name) != nullptr, plain.contains(name));
    }
  }
}

using Action = CollectionVerdict::Action;
constexpr auto kPresent = OwnerState::Present;
constexpr auto kAbsent = OwnerState::Absent;
constexpr auto kWaits = OwnerState::WaitsForDependents;
constexpr auto kUnknown = OwnerState::Unknown;

struct DependentCase {
  const char* name;
  std::vector<OwnerState> owners; ///< "a", "b", ...
  Dependents own;
  CollectionVerdict want;
};

class Dependent : public testing::TestWithParam<DependentCase> {};

TEST_P(Dependent, IsJudgedByItsOwners) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < GetParam().owners.size(); ++i) {
    names.emplace_back(1, static_cast<char>('a' + static_cast<int>(i)));
  }
  const CollectionVerdict got =
      judge_dependent(object("x", names), GetParam().owners, GetParam().own);
  EXPECT_EQ(got.action, GetParam().want.action);
  EXPECT_EQ(got.references, GetParam().want.references);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Dependent,
    testing::Values(
        DependentCase{"nobody_owns_it", {}, Dependents::None, {Action::Keep, {}}},
        DependentCase{"its_owner_lives", {kPresent}, Dependents::None, {Action::Keep, {}}},
        DependentCase{"its_owner_is_gone", {kAbsent}, Dependents::None, {Action::Delete, {}}},
        DependentCase{
            "gone_and_it_has_dependents", {kAbsent}, Dependents::Some, {Action::Delete, {}}},
        DependentCase{"not_known",
                      {kAbsent, kUnknown, kPresent},
                      Dependents::None,
                      {Action::CheckOwners, {"b"}}},
        DependentCase{"one_of_two_is_gone",
                      {kAbsent, kPresent},
                      Dependents::None,
                      {Action::DropReferences, {"a"}}},
        DependentCase{"both_are_gone", {kAbsent, kAbsent}, Dependents::None, {Action::Delete, {}}},
        DependentCase{"its_owner_waits", {kWaits}, Dependents::None, {Action::Delete, {}}},
        DependentCase{"its_owner_waits_and_it_has_dependents",
                      {kWaits},
                      Dependents::Some,
                      {Action::DeleteForeground, {}}},
        DependentCase{"one_waits_one_lives",
                      {kWaits, kPresent},
                      Dependents::Some,
                      {Action::DropReferences, {"a"}}},
        DependentCase{"gone_waiting_and_living",
                      {kWaits, kAbsent, kPresent},
                      Dependents::None,
                      {Action::DropReferences, {"b", "a"}}}),
    [](const auto& c) { return c.param.name; });

} // namespace
} // namespace berth::controllers
