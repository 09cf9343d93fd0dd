#include "berth/api/kinds.h"

#include <set>

#include <gtest/gtest.h>

namespace berth::api {
namespace {

TEST(Kinds, GroupAndVersionAreSplit) {
  EXPECT_EQ(make_gvk("v1", "Pod"), (GroupVersionKind{"", "v1", "Pod"}));
  EXPECT_EQ(make_gvk("apps/v1", "Deployment"), (GroupVersionKind{"apps", "v1", "Deployment"}));
  EXPECT_EQ(make_gvk("apps/v1", "Deployment").api_version(), "apps/v1");
  EXPECT_EQ(make_gvk("v1", "Pod").api_version(), "v1");
}

struct PluralCase {
  std::string group;
  std::string kind;
  std::string want;
};

class Plural : public testing::TestWithParam<PluralCase> {};

TEST_P(Plural, IsTheApiServersName) {
  EXPECT_EQ(plural_of({GetParam().group, "v1", GetParam().kind}), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Plural,
    testing::Values(PluralCase{"", "Pod", "pods"},
                    PluralCase{"scheduling.k8s.io", "PriorityClass", "priorityclasses"},
                    PluralCase{"networking.k8s.io", "Ingress", "ingresses"},
                    PluralCase{"networking.k8s.io", "NetworkPolicy", "networkpolicies"},
                    PluralCase{"", "Endpoints", "endpoints"},
                    PluralCase{"kueue.x-k8s.io", "LocalQueue", "localqueues"},
                    PluralCase{"kueue.x-k8s.io", "Topology", "topologies"},
                    PluralCase{"gateway.networking.k8s.io", "Gateway", "gateways"},
                    PluralCase{"x", "Mailbox", "mailboxes"},
                    PluralCase{"x", "Switch", "switches"}));

TEST(Kinds, ScopesAreKnownForCommonKinds) {
  EXPECT_EQ(scope_of({"", "v1", "Pod"}), Scope::Namespaced);
  EXPECT_EQ(scope_of({"", "v1", "Node"}), Scope::Cluster);
  EXPECT_EQ(scope_of({"rbac.authorization.k8s.io", "v1", "ClusterRole"}), Scope::Cluster);
  EXPECT_EQ(scope_of({"kueue.x-k8s.io", "v1beta1", "ClusterQueue"}), Scope::Cluster);
  EXPECT_EQ(scope_of({"scheduling.volcano.sh", "v1beta1", "Queue"}), Scope::Cluster);
  EXPECT_EQ(scope_of({"example.com", "v1", "Queue"}), Scope::Namespaced);
  EXPECT_EQ(scope_of({"example.com", "v1", "Widget"}), Scope::Namespaced);
}

TEST(Kinds, KnownOnesAreFoundInAnyVersion) {
  ASSERT_NE(find_kind("batch", "Job"), nullptr);
  EXPECT_EQ(find_kind("batch", "Job")->plural, "jobs");
  EXPECT_EQ(find_kind("batch.volcano.sh", "Job"), nullptr);
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const KindInfo& info : known_kinds()) {
    EXPECT_TRUE(seen.insert({info.group, info.kind}).second) << info.kind;
    EXPECT_EQ(find_kind(info.group, info.kind), &info);
  }
}

TEST(Kinds, ResourceNamesAreKubectls) {
  EXPECT_EQ(resource_name({"", "v1", "Pod"}, "a"), "pod/a");
  EXPECT_EQ(resource_name({"apps", "v1", "Deployment"}, "d"), "deployment.apps/d");
}

} // namespace
} // namespace berth::api
