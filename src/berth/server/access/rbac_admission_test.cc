#include "berth/server/access/rbac_admission.h"

#include "berth/server/access/access_fixture.h"

namespace berth::server {
namespace {

using RbacAdmission = AccessTest;

TEST_F(RbacAdmission, CompletesApiGroups) {
  const api::Object made =
      create(binding("ns/rb", "Role/r", {"User/a", "Group/b", "ServiceAccount/n/c"}));
  EXPECT_EQ(api::string_at(made.json(), "roleRef.apiGroup"), kRbacGroup);
  const auto& subjects = api::find(made.json(), "subjects")->get_array();
  EXPECT_EQ(api::string_at(subjects[0], "apiGroup"), kRbacGroup);
  EXPECT_EQ(api::string_at(subjects[1], "apiGroup"), kRbacGroup);
  EXPECT_EQ(api::string_at(subjects[2], "apiGroup"), "");
}

TEST_F(RbacAdmission, NamesAreFreeButForSlashesAndPercents) {
  EXPECT_EQ(complaint(role("system:a b", "")), "");
  EXPECT_EQ(complaint(role("a%b", "")),
            R"(ClusterRole.rbac.authorization.k8s.io "a%b" is invalid: metadata.name: )"
            R"(Invalid value: "a%b": may not contain '%')");
}

struct BadRole {
  const char* key;
  const char* rule;
  const char* what;
};

TEST_F(RbacAdmission, RefusesRules) {
  for (
      const BadRole& bad : std::initializer_list<BadRole>{
          {"n/r", R"({"apiGroups":[""],"resources":["pods"]})",
           "rules[0].verbs: Required value: verbs must contain at least one value"},
          {"n/r", R"({"verbs":["get"],"resources":["pods"]})",
           "rules[0].apiGroups: Required value: resource rules must supply at least one api group"},
          {"n/r", R"({"verbs":["get"],"apiGroups":[""]})",
           "rules[0].resources: Required value: resource rules must supply at least one resource"},
          {"n/r", R"({"verbs":["get"],"nonResourceURLs":["/a"]})",
           R"(rules[0].nonResourceURLs: Invalid value: ["/a"]: namespaced rules cannot apply to non-resource URLs)"},
          {"r", R"({"verbs":["get"],"nonResourceURLs":["/a"],"resources":["x"]})",
           R"(rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular resources and non-resource URLs)"},
      }) {
    EXPECT_THAT(complaint(role(bad.key, bad.rule)), ::testing::EndsWith(bad.what));
  }
}

TEST_F(RbacAdmission, RefusesAggregations) {
  const auto with = [](std::string_view selectors) {
    return parsed(fmt::format(
        R"({{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole",)"
        R"("metadata":{{"name":"x"}},"aggregationRule":{{"clusterRoleSelectors":{}}}}})",
        selectors));
  };
  EXPECT_THAT(
      complaint(with("[]")),
      ::testing::EndsWith("aggregationRule.clusterRoleSelectors: Required value: at least "
                          "one clusterRoleSelector required if aggregationRule is non-nil"));
  EXPECT_THAT(complaint(with(R"([{"matchExpressions":[{"key":"a","operator":"Near"}]}])")),
              ::testing::EndsWith("invalid label selector"));
  EXPECT_EQ(complaint(with(R"([{"matchLabels":{"a":"b"}}])")), "");
}

struct BadBinding {
  const char* key;
  const char* body;
  const char* what;
};

TEST_F(RbacAdmission, RefusesBindings) {
  for (
      const BadBinding& bad : std::initializer_list<BadBinding>{
          {"n/b", R"("roleRef":{"kind":"Role"})", "roleRef.name: Required value"},
          {"n/b", R"("roleRef":{"kind":"Role","name":"a/b"})",
           R"(roleRef.name: Invalid value: "a/b": may not contain '/')"},
          {"n/b", R"("roleRef":{"kind":"Part","name":"a"})",
           R"(roleRef.kind: Unsupported value: "Part": supported values: "Role", "ClusterRole")"},
          {"b", R"("roleRef":{"kind":"Role","name":"a"})",
           R"(roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole")"},
          {"b", R"("roleRef":{"kind":"ClusterRole","name":"a","apiGroup":"x"})",
           R"(roleRef.apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io")"},
          {"b",
           R"("roleRef":{"kind":"ClusterRole","name":"a"},"subjects":[{"kind":"ServiceAccount","name":"x"}])",
           "subjects[0].namespace: Required value"},
          {"n/b", R"("roleRef":{"kind":"Role","name":"a"},"subjects":[{"kind":"User"}])",
           "subjects[0].name: Required value"},
          {"n/b",
           R"("roleRef":{"kind":"Role","name":"a"},"subjects":[{"kind":"Robot","name":"x"}])",
           R"(subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group")"},
      }) {
    const std::string key = bad.key;
    const bool cluster = key.find('/') == std::string::npos;
    const api::Object object = parsed(fmt::format(
        R"({{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"{}","metadata":{{"name":"b","namespace":"{}"}},{}}})",
        cluster ? "ClusterRoleBinding" : "RoleBinding", cluster ? "" : "n", bad.body));
    EXPECT_THAT(complaint(object), ::testing::EndsWith(bad.what));
  }
}

TEST_F(RbacAdmission, ARoleRefStays) {
  create(binding("ns/rb", "Role/r", {"User/a"}));
  const auto changed =
      registry.update(binding("ns/rb", "Role/other", {"User/a"}), store::Subresource::None, now);
  ASSERT_FALSE(changed.has_value());
  EXPECT_EQ(changed.error().message,
            R"(RoleBinding.rbac.authorization.k8s.io "rb" is invalid: roleRef: Invalid value: )"
            R"({"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"other"}: )"
            R"(cannot change roleRef)");
  EXPECT_TRUE(registry.update(binding("ns/rb", "Role/r", {}), store::Subresource::None, now));
}

} // namespace
} // namespace berth::server
