#include "berth/server/access/rbac.h"

#include <algorithm>

#include "berth/base/rng.h"
#include "berth/server/access/access_fixture.h"
#include "berth/testing/seeds.h"

namespace berth::server {
namespace {

constexpr const char* kGetPods = R"({"verbs":["get"],"apiGroups":[""],"resources":["pods"]})";

class RbacTest : public AccessTest {
 protected:
  void SetUp() override { rbac = Rbac::open(registry).value(); }
  Decision may(const User& who, std::string_view what) { return rbac->authorize(who, asks(what)); }

  std::unique_ptr<Rbac> rbac;
};

TEST_F(RbacTest, MastersMayDoEverything) {
  const Decision decision = may(user("root", {kMasters}), "delete secrets ns/a");
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(decision.reason, "");
  EXPECT_TRUE(may(user("root", {kMasters}), "get /metrics").allowed);
}

TEST_F(RbacTest, ARoleBindingHoldsInItsNamespace) {
  create(role("ns/r", kGetPods));
  create(binding("ns/rb", "Role/r", {"User/user"}));
  const Decision decision = may(user("user"), "get pods ns/a");
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(decision.reason, R"(RBAC: allowed by RoleBinding "rb/ns" of Role "r" to User "user")");
  EXPECT_FALSE(may(user("user"), "get pods other/a").allowed);
  EXPECT_FALSE(may(user("user"), "get pods a").allowed);
  EXPECT_FALSE(may(user("other"), "get pods ns/a").allowed);
  EXPECT_FALSE(may(user("x", {"user"}), "get pods ns/a").allowed) << "a group is no user";
}

TEST_F(RbacTest, AClusterRoleIsBoundInOneNamespaceOrInAll) {
  create(role("reader", kGetPods));
  create(binding("ns/rb", "ClusterRole/reader", {"Group/dev"}));
  create(binding("all", "ClusterRole/reader", {"ServiceAccount/ns/bot"}));
  EXPECT_EQ(may(user("u", {"dev"}), "get pods ns/a").reason,
            R"(RBAC: allowed by RoleBinding "rb/ns" of ClusterRole "reader" to Group "dev")");
  EXPECT_FALSE(may(user("u", {"dev"}), "get pods other/a").allowed);
  EXPECT_EQ(may(user("system:serviceaccount:ns:bot"), "get pods other/a").reason,
            R"(RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "reader" to )"
            R"(ServiceAccount "bot/ns")");
}

TEST_F(RbacTest, AServiceAccountWithoutANamespaceIsOfTheBindings) {
  create(role("ns/r", kGetPods));
  create(binding("ns/rb", "Role/r", {"ServiceAccount/bot"}));
  EXPECT_EQ(may(user("system:serviceaccount:ns:bot"), "get pods ns/a").reason,
            R"(RBAC: allowed by RoleBinding "rb/ns" of Role "r" to ServiceAccount "bot/ns")");
  EXPECT_FALSE(may(user("system:serviceaccount:other:bot"), "get pods ns/a").allowed);
}

TEST_F(RbacTest, SaysWhichRolesAreNotThere) {
  create(binding("ns/a", "Role/gone", {"User/u"}));
  EXPECT_EQ(may(user("u"), "get pods ns/x").reason,
            R"(RBAC: role.rbac.authorization.k8s.io "gone" not found)");
  create(binding("b", "ClusterRole/lost", {"User/u", "Group/g"}));
  create(binding("c", "ClusterRole/lost", {"User/u"}));
  EXPECT_EQ(may(user("u", {"g"}), "get pods ns/x").reason,
            R"(RBAC: [clusterrole.rbac.authorization.k8s.io "lost" not found, )"
            R"(role.rbac.authorization.k8s.io "gone" not found])");
  create(role("lost", kGetPods));
  EXPECT_TRUE(may(user("u"), "get pods ns/x").allowed);
}

TEST_F(RbacTest, FollowsWhatChanges) {
  create(role("ns/r", kGetPods));
  create(binding("ns/rb", "Role/r", {"User/a"}));
  update(binding("ns/rb", "Role/r", {"User/b"}));
  EXPECT_FALSE(may(user("a"), "get pods ns/x").allowed);
  EXPECT_TRUE(may(user("b"), "get pods ns/x").allowed);
  update(role("ns/r", R"({"verbs":["list"],"apiGroups":[""],"resources":["pods"]})"));
  EXPECT_FALSE(may(user("b"), "get pods ns/x").allowed);
  EXPECT_TRUE(may(user("b"), "list pods ns/").allowed);
  remove(kRoleBindings, {"ns", "rb"});
  EXPECT_FALSE(may(user("b"), "list pods ns/").allowed);
}

TEST_F(RbacTest, ReadsWhatWasThereBefore) {
  create(role("ns/r", kGetPods));
  create(binding("ns/rb", "Role/r", {"User/a"}));
  EXPECT_TRUE(Rbac::open(registry).value()->authorize(user("a"), asks("get pods ns/x")).allowed);
}

TEST_F(RbacTest, TellsWhatIsHeld) {
  create(role("ns/r", kGetPods));
  create(binding("ns/rb", "Role/r", {"User/a"}));
  create(binding("ns/x", "ClusterRole/gone", {"User/a"}));
  const Rbac::Held held = rbac->held(user("a"), "ns");
  EXPECT_EQ(held.rules, rules_of(role("ns/r", kGetPods).json()).value());
  EXPECT_THAT(held.missing,
              ::testing::ElementsAre(R"(clusterrole.rbac.authorization.k8s.io "gone" not found)"));
  EXPECT_TRUE(rbac->held(user("a"), "other").rules.empty());
}

/// Rules as one reads them: go through every binding that is stored.
bool slowly(const store::Registry& registry, const User& user, const RequestInfo& what) {
  const auto all = [&](const store::GroupKind& kind) {
    return registry.list({.kind = kind, .ns = {}, .labels = {}, .node = {}, .name = {}}).items;
  };
  const auto applies = [&](const Subject& subject, const std::string& ns) {
    if (subject.kind == "User") {
      return subject.name == user.name;
    }
    if (subject.kind == "Group") {
      return std::ranges::find(user.groups, subject.name) != user.groups.end();
    }
    return "system:serviceaccount:" + (subject.ns.empty() ? ns : subject.ns) + ":" + subject.name ==
           user.name;
  };
  for (const store::GroupKind& kind : {kRoleBindings, kClusterRoleBindings}) {
    for (const api::Object& object : all(kind)) {
      const RoleBinding binding = binding_of(object).value();
      const bool here = kind == kClusterRoleBindings || (what.is_resource && binding.ns == what.ns);
      if (!here || std::ranges::none_of(binding.subjects, [&](const Subject& subject) {
            return applies(subject, binding.ns);
          })) {
        continue;
      }
      for (const api::Object& role : all(binding.role.kind == "Role" ? kRoles : kClusterRoles)) {
        if (role.meta().name != binding.role.name ||
            (binding.role.kind == "Role" && role.meta().ns != binding.ns)) {
          continue;
        }
        const PolicyRules rules = rules_of(role.json()).value();
        if (std::ranges::any_of(rules,
                                [&](const PolicyRule& rule) { return allows(rule, what); })) {
          return true;
        }
      }
    }
  }
  return false;
}

class RbacHistory : public RbacTest, public ::testing::WithParamInterface<std::uint64_t> {
 protected:
  template <class T> const T& one_of(const std::vector<T>& list) {
    return list[rng.below(list.size())];
  }
  std::string some_rules(bool cluster) {
    std::string rules;
    for (std::uint64_t i = rng.below(3); i > 0; --i) {
      rules += fmt::format(R"({}{{"verbs":["{}"],"apiGroups":["{}"],"resources":["{}"]{}}})",
                           rules.empty() ? "" : ",", one_of<std::string>({"get", "list", "*"}),
                           one_of<std::string>({"", "apps", "*"}),
                           one_of<std::string>({"pods", "pods/log", "*/log", "*"}),
                           rng.chance(1, 4) ? R"(,"resourceNames":["x"])" : "");
    }
    if (cluster && rng.chance(1, 4)) {
      rules += (rules.empty() ? "" : ",") +
               std::string(R"({"verbs":["get"],"nonResourceURLs":["/a*"]})");
    }
    return rules;
  }
  void step() {
    const std::string ns = one_of(spaces);
    const std::string name = one_of<std::string>({"a", "b", "c"});
    const bool cluster = rng.chance(1, 2);
    const std::string key = cluster ? name : ns + "/" + name;
    const bool is_role = rng.chance(1, 2);
    const store::GroupKind& kind = is_role ? (cluster ? kClusterRoles : kRoles)
                                           : (cluster ? kClusterRoleBindings : kRoleBindings);
    const auto present = registry.get(kind, {cluster ? "" : ns, name});
    if (present && rng.chance(1, 3)) {
      remove(kind, present->key());
      return;
    }
    if (is_role) {
      const api::Object object = role(key, some_rules(cluster));
      static_cast<void>(present ? update(object) : create(object));
      return;
    }
    // An update keeps its roleRef.
    const std::string ref =
        present ? std::string(api::string_at(present->json(), "roleRef.kind")) + "/" +
                      std::string(api::string_at(present->json(), "roleRef.name"))
                : (cluster || rng.chance(1, 2) ? "ClusterRole/" : "Role/") +
                      one_of<std::string>({"a", "b", "c"});
    std::vector<std::string> subjects;
    for (std::uint64_t i = rng.below(4); i > 0; --i) {
      subjects.push_back(
          one_of<std::string>({"User/u", "User/v", "Group/g", "Group/h", "ServiceAccount/m/bot"}));
    }
    const api::Object object = binding(key, ref, subjects);
    static_cast<void>(present ? update(object) : create(object));
  }

  Rng rng{GetParam()};
  std::vector<std::string> spaces{"m", "n"};
};

TEST_P(RbacHistory, AgreesWithReadingEveryBinding) {
  const std::vector<User> users = {user("u"), user("v", {"g"}), user("w", {"g", "h"}),
                                   user("system:serviceaccount:m:bot", {"h"})};
  const std::vector<std::string> questions = {
      "get pods m/x", "list pods n/", "get pods/log m/y", "get pods x", "get jobs.apps n/x",
      "get /ab",      "get /b"};
  int allowed = 0;
  for (int turn = 0; turn < 60; ++turn) {
    step();
    for (const User& who : users) {
      for (const std::string& what : questions) {
        const bool want = slowly(registry, who, asks(what));
        ASSERT_EQ(may(who, what).allowed, want) << who.name << " " << what << ", turn " << turn;
        allowed += want ? 1 : 0;
      }
    }
  }
  EXPECT_GT(allowed, 0);
  // An index made afterwards says the same.
  const auto fresh = Rbac::open(registry).value();
  for (const User& who : users) {
    for (const std::string& what : questions) {
      const Decision decision = may(who, what);
      EXPECT_EQ(fresh->authorize(who, asks(what)).reason, decision.reason);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RbacHistory, test::seeds(10));

} // namespace
} // namespace berth::server
