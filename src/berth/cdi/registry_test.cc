#include "berth/cdi/registry.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"

namespace berth::cdi {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Spec spec(const std::vector<std::string>& devices, std::string_view mark = "x",
          std::string_view kind = "vendor.com/gpu") {
  Spec made{.cdi_version = "1.0.0", .kind = std::string(kind)};
  for (const std::string& name : devices) {
    made.devices.push_back({.name = name, .edits = {.env = {fmt::format("FROM={}", mark)}}});
  }
  return made;
}

std::string from(const Registry& registry, std::string_view name) {
  const Resolved found = registry.find(name);
  return found.device ? found.device->edits.env.at(0) : "nothing";
}

TEST(Registry, FindsADeviceWithItsSpec) {
  Registry registry;
  ASSERT_TRUE(registry.put("a", Registry::kStatic, spec({"0", "1"})));
  const Resolved found = registry.find("vendor.com/gpu=1");
  ASSERT_TRUE(found.device);
  EXPECT_EQ(found.device->name, "1");
  EXPECT_EQ(found.spec->kind, "vendor.com/gpu");
  EXPECT_THAT(registry.names(), ElementsAre("vendor.com/gpu=0", "vendor.com/gpu=1"));
}

TEST(Registry, KnowsNothingElse) {
  Registry registry;
  ASSERT_TRUE(registry.put("a", Registry::kStatic, spec({"0"})));
  for (const char* name : {"vendor.com/gpu=1", "vendor.com/nic=0", "other.com/gpu=0", "0", "",
                           "vendor.com/gpu", "vendor.com/gpu=0=0"}) {
    EXPECT_EQ(from(registry, name), "nothing") << name;
  }
}

TEST(Registry, RefusesASpecThatBreaksTheRules) {
  Registry registry;
  ASSERT_TRUE(registry.put("a", Registry::kStatic, spec({"0"}, "old")));
  const auto put = registry.put("a", Registry::kStatic, spec({}));
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, Code::Invalid);
  EXPECT_EQ(from(registry, "vendor.com/gpu=0"), "FROM=old");
}

TEST(Registry, TheHigherPriorityWins) {
  Registry registry;
  ASSERT_TRUE(registry.put("b", Registry::kDynamic, spec({"0"}, "run")));
  ASSERT_TRUE(registry.put("a", Registry::kStatic, spec({"0", "1"}, "etc")));
  ASSERT_TRUE(registry.put("c", Registry::kStatic, spec({"0"}, "etc too")));
  EXPECT_EQ(from(registry, "vendor.com/gpu=0"), "FROM=run");
  EXPECT_EQ(from(registry, "vendor.com/gpu=1"), "FROM=etc");
}

TEST(Registry, TwoOfOnePriorityAreNone) {
  Registry registry;
  ASSERT_TRUE(registry.put("a", Registry::kDynamic, spec({"0", "1"}, "a")));
  ASSERT_TRUE(registry.put("b", Registry::kDynamic, spec({"0"}, "b")));
  ASSERT_TRUE(registry.put("c", Registry::kStatic, spec({"0"}, "c")));
  EXPECT_EQ(from(registry, "vendor.com/gpu=0"), "nothing");
  EXPECT_THAT(registry.names(), ElementsAre("vendor.com/gpu=1"));
  registry.remove("b");
  EXPECT_EQ(from(registry, "vendor.com/gpu=0"), "FROM=a");
}

TEST(Registry, AFileIsReplacedByItsName) {
  Registry registry;
  ASSERT_TRUE(registry.put("a", Registry::kDynamic, spec({"0", "1"}, "old")));
  ASSERT_TRUE(registry.put("a", Registry::kDynamic, spec({"1", "2"}, "new")));
  EXPECT_THAT(registry.names(), ElementsAre("vendor.com/gpu=1", "vendor.com/gpu=2"));
  EXPECT_EQ(from(registry, "vendor.com/gpu=1"), "FROM=new");
  registry.remove("unknown");
  registry.remove("a");
  EXPECT_THAT(registry.names(), IsEmpty());
}

TEST(Registry, ACopyKeepsWhatWas) {
  Registry registry;
  ASSERT_TRUE(registry.put("a", Registry::kDynamic, spec({"0"}, "old")));
  const Registry then = registry;
  ASSERT_TRUE(registry.put("a", Registry::kDynamic, spec({"0"}, "new")));
  EXPECT_EQ(from(then, "vendor.com/gpu=0"), "FROM=old");
  registry.clear_dynamic();
  EXPECT_EQ(from(then, "vendor.com/gpu=0"), "FROM=old");
  EXPECT_EQ(from(registry, "vendor.com/gpu=0"), "nothing");
}

TEST(Registry, ARebootForgetsWhatIsDynamic) {
  Registry registry;
  ASSERT_TRUE(registry.put("a", Registry::kStatic, spec({"0"}, "etc")));
  ASSERT_TRUE(registry.put("b", Registry::kDynamic, spec({"0", "1"}, "run")));
  registry.clear_dynamic();
  EXPECT_THAT(registry.names(), ElementsAre("vendor.com/gpu=0"));
  EXPECT_EQ(from(registry, "vendor.com/gpu=0"), "FROM=etc");
}

// Random files against the rule as it is written.
TEST(Registry, FollowsTheRuleInAnyHistory) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Rng rng(seed);
    Registry registry;
    std::map<std::string, std::pair<int, std::set<std::string>>> files;
    for (int turn = 0; turn < 60; ++turn) {
      const std::string file = fmt::format("f{}", rng.below(4));
      if (rng.chance(1, 4)) {
        registry.remove(file);
        files.erase(file);
      } else {
        std::set<std::string> devices;
        for (std::int64_t i = rng.between(1, 3); i > 0; --i) {
          devices.insert(fmt::format("{}", rng.below(4)));
        }
        const int priority = rng.chance(1, 2) ? Registry::kStatic : Registry::kDynamic;
        ASSERT_TRUE(registry.put(file, priority, spec({devices.begin(), devices.end()}, file)));
        files[file] = {priority, devices};
      }
      for (int device = 0; device < 4; ++device) {
        const std::string name = fmt::format("{}", device);
        std::string want = "nothing";
        for (const int priority : {Registry::kStatic, Registry::kDynamic}) {
          std::vector<std::string> here;
          for (const auto& [defining, entry] : files) {
            if (entry.first == priority && entry.second.contains(name)) {
              here.push_back(defining);
            }
          }
          if (!here.empty()) {
            want = here.size() == 1 ? "FROM=" + here[0] : "nothing";
          }
        }
        ASSERT_EQ(from(registry, "vendor.com/gpu=" + name), want) << "seed " << seed;
      }
    }
  }
}

TEST(Registry, NamesThatFilesOfOnePriorityShareAreConflicts) {
  Registry registry;
  ASSERT_TRUE(registry.put("a", Registry::kStatic, spec({"0", "1", "2"})));
  ASSERT_TRUE(registry.put("b", Registry::kStatic, spec({"1", "2"})));
  EXPECT_EQ(registry.conflicts().size(), 2U);
  ASSERT_TRUE(registry.put("c", Registry::kDynamic, spec({"1"})));
  const auto conflicts = registry.conflicts();
  ASSERT_EQ(conflicts.size(), 1U) << "a dynamic spec settles the other";
  EXPECT_EQ(conflicts[0].name, "vendor.com/gpu=2");
  EXPECT_THAT(conflicts[0].files, ElementsAre("a", "b"));
}

} // namespace
} // namespace berth::cdi
