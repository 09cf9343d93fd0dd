#include "berth/server/access/bootstrap_policy.h"

#include <set>

#include "berth/base/virtual_loop.h"
#include "berth/server/access/access_fixture.h"
#include "berth/server/access/cluster_role_aggregation.h"

namespace berth::server {
namespace {

class BootstrapPolicy : public AccessTest {
 protected:
  void SetUp() override {
    rbac = Rbac::open(registry).value();
    aggregation = ClusterRoleAggregation::open(loop, registry).value();
    ASSERT_TRUE(ensure_bootstrap_policy(registry, now).has_value());
    ASSERT_TRUE(loop.run_to_idle(1000));
  }
  bool may(const User& who, std::string_view what) {
    return rbac->authorize(who, asks(what)).allowed;
  }
  void settle() { ASSERT_TRUE(loop.run_to_idle(1000)); }

  VirtualLoop loop{now};
  std::unique_ptr<Rbac> rbac;
  std::unique_ptr<ClusterRoleAggregation> aggregation;
};

TEST_F(BootstrapPolicy, MarksWhatItMakes) {
  for (const api::json::value& document : bootstrap_policy()) {
    const api::Object object = api::Object::from_json(document).value();
    EXPECT_EQ(object.meta().labels.at("kubernetes.io/bootstrapping"), "rbac-defaults");
    EXPECT_EQ(object.meta().annotations.at("rbac.authorization.kubernetes.io/autoupdate"), "true");
    EXPECT_TRUE(registry.get(store::group_kind(object), object.key()).has_value());
  }
}

TEST_F(BootstrapPolicy, EveryBindingHasItsRole) {
  const auto all =
      registry.list({.kind = kClusterRoleBindings, .ns = {}, .labels = {}, .node = {}, .name = {}});
  EXPECT_FALSE(all.items.empty());
  for (const api::Object& object : all.items) {
    EXPECT_TRUE(rbac->rules_of(binding_of(object).value().role, "").has_value())
        << object.meta().name;
  }
}

TEST_F(BootstrapPolicy, EverybodyMayDiscoverAndAskAboutThemselves) {
  const User anybody = user("u", {kAuthenticated});
  const User nobody = user(kAnonymous, {kUnauthenticated});
  EXPECT_TRUE(may(anybody, "get /apis/apps/v1"));
  EXPECT_TRUE(may(anybody, "create selfsubjectaccessreviews.authorization.k8s.io"));
  EXPECT_TRUE(may(anybody, "create selfsubjectreviews.authentication.k8s.io"));
  EXPECT_FALSE(may(anybody, "get pods ns/a"));
  EXPECT_FALSE(may(anybody, "get /metrics"));
  EXPECT_TRUE(may(nobody, "get /version"));
  EXPECT_TRUE(may(nobody, "get /healthz"));
  EXPECT_FALSE(may(nobody, "get /apis"));
}

TEST_F(BootstrapPolicy, ComponentsMayDoTheirWork) {
  const User scheduler = user("system:kube-scheduler", {kAuthenticated});
  EXPECT_TRUE(may(scheduler, "create pods/binding ns/a"));
  EXPECT_TRUE(may(scheduler, "update leases.coordination.k8s.io kube-system/kube-scheduler"));
  EXPECT_FALSE(may(scheduler, "update leases.coordination.k8s.io kube-node-lease/a"));
  EXPECT_FALSE(may(scheduler, "get secrets ns/a"));
  const User node = user("system:node:a", {"system:nodes", kAuthenticated});
  EXPECT_TRUE(may(node, "patch nodes/status a"));
  EXPECT_TRUE(may(node, "update leases.coordination.k8s.io kube-node-lease/a"));
  EXPECT_FALSE(may(node, "create pods/binding ns/a"));
  const User controllers = user("system:kube-controller-manager", {kAuthenticated});
  EXPECT_TRUE(may(controllers, "watch jobs.batch"));
}

TEST_F(BootstrapPolicy, AdminEditAndViewGatherTheirParts) {
  create(binding("ns/a", "ClusterRole/admin", {"User/admin"}));
  create(binding("ns/e", "ClusterRole/edit", {"User/edit"}));
  create(binding("ns/v", "ClusterRole/view", {"User/view"}));
  for (const char* who : {"admin", "edit", "view"}) {
    EXPECT_TRUE(may(user(who), "list pods ns/")) << who;
    EXPECT_TRUE(may(user(who), "get podgroups.scheduling.x-k8s.io ns/a")) << who;
    EXPECT_FALSE(may(user(who), "list pods other/")) << who;
  }
  EXPECT_TRUE(may(user("admin"), "create roles.rbac.authorization.k8s.io ns/"));
  EXPECT_FALSE(may(user("edit"), "create roles.rbac.authorization.k8s.io ns/"));
  EXPECT_TRUE(may(user("admin"), "create jobs.batch ns/"));
  EXPECT_TRUE(may(user("edit"), "create jobs.batch ns/"));
  EXPECT_FALSE(may(user("view"), "create jobs.batch ns/"));
  EXPECT_TRUE(may(user("edit"), "get secrets ns/a"));
  EXPECT_FALSE(may(user("view"), "get secrets ns/a"));
}

TEST_F(BootstrapPolicy, NewPartsAreGatheredThroughAllThatAggregate) {
  create(role("gpu-viewer", R"({"verbs":["get"],"apiGroups":["x"],"resources":["gpus"]})")
             .edit([](api::json::object& document) {
               api::object_at(document, "metadata")["labels"] =
                   api::json::object{{"rbac.authorization.k8s.io/aggregate-to-view", "true"}};
             }));
  create(binding("ns/a", "ClusterRole/admin", {"User/admin"}));
  EXPECT_FALSE(may(user("admin"), "get gpus.x ns/a"));
  settle();
  EXPECT_TRUE(may(user("admin"), "get gpus.x ns/a"));
  remove(kClusterRoles, {"", "gpu-viewer"});
  settle();
  EXPECT_FALSE(may(user("view"), "get gpus.x ns/a"));
  const auto view = rules_of(registry.get(kClusterRoles, {"", "view"})->json()).value();
  EXPECT_TRUE(std::ranges::none_of(
      view, [&](const PolicyRule& rule) { return allows(rule, asks("get gpus.x ns/a")); }));
}

TEST_F(BootstrapPolicy, RepeatingItWritesNothing) {
  const std::uint64_t before = store.revision();
  ASSERT_TRUE(ensure_bootstrap_policy(registry, now).has_value());
  settle();
  EXPECT_EQ(store.revision(), before);
}

TEST_F(BootstrapPolicy, AddsWhatIsMissingAndKeepsWhatIsAdded) {
  update(role("system:basic-user", R"({"verbs":["get"],"apiGroups":["x"],"resources":["y"]})"));
  update(binding("system:discovery", "ClusterRole/system:discovery", {"User/extra"}));
  ASSERT_TRUE(ensure_bootstrap_policy(registry, now).has_value());
  const User anybody = user("u", {kAuthenticated});
  EXPECT_TRUE(may(anybody, "get y.x ns/a"));
  EXPECT_TRUE(may(anybody, "create selfsubjectreviews.authentication.k8s.io"));
  EXPECT_TRUE(may(anybody, "get /apis"));
  EXPECT_TRUE(may(user("extra"), "get /apis"));
  EXPECT_EQ(registry.get(kClusterRoles, {"", "system:basic-user"})
                ->meta()
                .labels.at("kubernetes.io/bootstrapping"),
            "rbac-defaults");
}

TEST_F(BootstrapPolicy, LeavesAloneWhatSaysSo) {
  update(role("system:basic-user", "").edit([](api::json::object& document) {
    api::object_at(document, "metadata")["annotations"] =
        api::json::object{{"rbac.authorization.kubernetes.io/autoupdate", "false"}};
  }));
  ASSERT_TRUE(ensure_bootstrap_policy(registry, now).has_value());
  EXPECT_FALSE(may(user("u", {kAuthenticated}), "create selfsubjectreviews.authentication.k8s.io"));
}

} // namespace
} // namespace berth::server
