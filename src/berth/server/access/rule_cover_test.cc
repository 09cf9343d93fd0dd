#include "berth/server/access/rule_cover.h"

#include <algorithm>

#include "berth/base/rng.h"
#include "berth/server/access/access_fixture.h"
#include "berth/testing/seeds.h"

namespace berth::server {
namespace {

struct Case {
  const char* name;
  const char* held;
  const char* wanted;
  std::vector<std::string> missing;
};

class CoverTest : public AccessTest, public ::testing::WithParamInterface<Case> {};

TEST_P(CoverTest, FindsWhatIsMissing) {
  const PolicyRules held = rules_of(role("r", GetParam().held).json()).value();
  const PolicyRules wanted = rules_of(role("r", GetParam().wanted).json()).value();
  std::vector<std::string> missing;
  for (const PolicyRule& rule : compacted(missing_rules(held, wanted))) {
    missing.push_back(to_string(rule));
  }
  EXPECT_EQ(missing, GetParam().missing);
}

constexpr const char* kPods =
    R"({"verbs":["get","list"],"apiGroups":[""],"resources":["pods","pods/log"]})";

INSTANTIATE_TEST_SUITE_P(
    Rules, CoverTest,
    ::testing::Values(
        Case{"same", kPods, kPods, {}},
        Case{"nothing_held",
             "",
             kPods,
             {R"({APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]})",
              R"({APIGroups:[""], Resources:["pods/log"], Verbs:["get" "list"]})"}},
        Case{
            "everything_held", R"({"verbs":["*"],"apiGroups":["*"],"resources":["*"]})", kPods, {}},
        Case{"all_verbs_are_more_than_each",
             kPods,
             R"({"verbs":["*"],"apiGroups":[""],"resources":["pods"]})",
             {R"({APIGroups:[""], Resources:["pods"], Verbs:["*"]})"}},
        Case{"names_cover_names",
             R"({"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["a"]})",
             R"({"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["a","b"]})",
             {R"({APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]})"}},
        Case{"names_do_not_cover_all",
             R"({"verbs":["get"],"apiGroups":[""],"resources":["pods"],"resourceNames":["a"]})",
             R"({"verbs":["get"],"apiGroups":[""],"resources":["pods"]})",
             {R"({APIGroups:[""], Resources:["pods"], Verbs:["get"]})"}},
        Case{"subresource_of_any",
             R"({"verbs":["get"],"apiGroups":["apps"],"resources":["*/scale"]})",
             R"({"verbs":["get"],"apiGroups":["apps"],"resources":["deployments/scale"]})",
             {}},
        Case{"urls",
             R"({"verbs":["get"],"nonResourceURLs":["/a/*"]})",
             R"({"verbs":["get","post"],"nonResourceURLs":["/a/b","/c"]})",
             {R"({NonResourceURLs:["/a/b"], Verbs:["post"]})",
              R"({NonResourceURLs:["/c"], Verbs:["get"]})",
              R"({NonResourceURLs:["/c"], Verbs:["post"]})"}}),
    [](const auto& given) { return given.param.name; });

class CoverProperty : public AccessTest, public ::testing::WithParamInterface<std::uint64_t> {};

/// Who holds what covers a rule may do all that the rule allows.
TEST_P(CoverProperty, CoveredRulesAllowNothingNew) {
  Rng rng(GetParam());
  const auto some = [&](std::vector<std::string> from) {
    std::erase_if(from, [&](const std::string&) { return rng.chance(1, 2); });
    return from;
  };
  const auto rules = [&](std::uint64_t most) {
    PolicyRules out(rng.below(most) + 1);
    for (PolicyRule& rule : out) {
      rule = {.verbs = some({"get", "list", "*"}),
              .api_groups = some({"", "apps", "*"}),
              .resources = some({"pods", "pods/log", "*/log", "*"}),
              .resource_names = rng.chance(1, 3) ? some({"x", "y"}) : std::vector<std::string>(),
              .non_resource_urls = {}};
    }
    return out;
  };
  int covered = 0;
  for (int turn = 0; turn < 300; ++turn) {
    const PolicyRules held = rules(4);
    const PolicyRules wanted = rules(2);
    if (!missing_rules(held, wanted).empty()) {
      continue;
    }
    ++covered;
    for (const char* text : {"get pods m/x", "list pods m/", "get pods/log m/y",
                             "get jobs.apps n/x", "watch jobs.x/log n/y"}) {
      const auto any = [&](const PolicyRules& of) {
        return std::ranges::any_of(of, [&](const auto& rule) { return allows(rule, asks(text)); });
      };
      ASSERT_TRUE(any(held) || !any(wanted)) << text;
    }
  }
  EXPECT_GT(covered, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CoverProperty, test::seeds(5));

} // namespace
} // namespace berth::server
