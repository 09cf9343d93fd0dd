#include "berth/server/access/access_fixture.h"

namespace berth::server {
namespace {

struct Case {
  const char* name;
  const char* rule;
  std::vector<const char*> yes;
  std::vector<const char*> no;
};

class RuleTest : public AccessTest, public ::testing::WithParamInterface<Case> {};

TEST_P(RuleTest, AllowsWhatItSays) {
  const PolicyRules rules = rules_of(role("ns/r", GetParam().rule).json()).value();
  ASSERT_EQ(rules.size(), 1U);
  for (const char* what : GetParam().yes) {
    EXPECT_TRUE(allows(rules.front(), asks(what))) << what;
  }
  for (const char* what : GetParam().no) {
    EXPECT_FALSE(allows(rules.front(), asks(what))) << what;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rbac, RuleTest,
    ::testing::Values(
        Case{"verbs_and_groups",
             R"({"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]})",
             {"get pods ns/a", "list pods ns/"},
             {"watch pods ns/", "get pods.apps ns/a", "get services ns/a", "get /pods"}},
        Case{"subresources_are_apart",
             R"({"verbs":["get"],"apiGroups":[""],"resources":["pods/log"]})",
             {"get pods/log ns/a"},
             {"get pods ns/a", "get pods/exec ns/a"}},
        Case{"a_resource_is_not_its_subresources",
             R"({"verbs":["get"],"apiGroups":[""],"resources":["pods"]})",
             {"get pods ns/a"},
             {"get pods/log ns/a"}},
        Case{"any_resource_covers_subresources",
             R"({"verbs":["*"],"apiGroups":["*"],"resources":["*"]})",
             {"get pods ns/a", "delete jobs.batch/status ns/a", "escalate roles.x ns/"},
             {"get /healthz"}},
        Case{"one_subresource_of_any",
             R"({"verbs":["update"],"apiGroups":["*"],"resources":["*/scale"]})",
             {"update deployments.apps/scale ns/a", "update things.x/scale ns/a"},
             {"update deployments.apps ns/a", "update deployments.apps/status ns/a",
              "update deployments.apps/upscale ns/a"}},
        Case{
            "names",
            R"({"verbs":["get","list"],"apiGroups":[""],"resources":["secrets"],"resourceNames":["a","b"]})",
            {"get secrets ns/a", "list secrets ns/b"},
            {"get secrets ns/c", "list secrets ns/"}},
        Case{"paths",
             R"({"verbs":["get"],"nonResourceURLs":["/healthz","/apis/*"]})",
             {"get /healthz", "get /apis/apps/v1", "get /apis/"},
             {"get /healthz/ping", "get /apis", "head /healthz", "get pods ns/a"}},
        Case{"any_path",
             R"({"verbs":["*"],"nonResourceURLs":["*"]})",
             {"get /", "post /x/y"},
             {"get pods ns/a"}},
        Case{"nothing", R"({"verbs":[]})", {}, {"get pods ns/a", "get /"}}),
    [](const auto& given) { return given.param.name; });

using RbacObjects = AccessTest;

TEST_F(RbacObjects, SurviveARoundTrip) {
  const char* text = R"({"verbs":["get"],"apiGroups":["","apps"],"resources":["pods"],)"
                     R"("resourceNames":["a"]},{"verbs":["*"],"nonResourceURLs":["/x"]})";
  const PolicyRules rules = rules_of(role("r", text).json()).value();
  EXPECT_EQ(api::to_json(to_document(rules)), fmt::format("[{}]", text));
}

TEST_F(RbacObjects, NameTheFieldThatCannotBeRead) {
  const auto rules = rules_of(role("r", R"({"verbs":"get"})").json());
  ASSERT_FALSE(rules.has_value());
  EXPECT_EQ(rules.error().where->field, "rules[0].verbs");
}

} // namespace
} // namespace berth::server
