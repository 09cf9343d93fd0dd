#include "berth/server/access/escalation.h"

#include "berth/server/access/access_fixture.h"

namespace berth::server {
namespace {

constexpr const char* kGetPods = R"({"verbs":["get"],"apiGroups":[""],"resources":["pods"]})";
constexpr const char* kAll =
    R"({"verbs":["*"],"apiGroups":["*"],"resources":["*"]},{"verbs":["*"],"nonResourceURLs":["*"]})";

/// A user who may get pods in "ns" and write roles and bindings there.
class EscalationTest : public AccessTest {
 protected:
  void SetUp() override {
    rbac = Rbac::open(registry).value();
    create(role("ns/reader", kGetPods));
    create(role("ns/strong", R"({"verbs":["delete"],"apiGroups":[""],"resources":["pods"]})"));
    create(binding("ns/reads", "Role/reader", {"User/u"}));
  }
  /// What is wrong with a write in "ns"; "" if nothing is.
  std::string why(const api::Object& object, const api::Object* before = nullptr,
                  const User& who = user("u", {"g"})) {
    RequestInfo info =
        asks(fmt::format("{} {} {}/{}", before == nullptr ? "create" : "update", plural(object),
                         object.meta().ns, before == nullptr ? "" : object.meta().name));
    const auto checked =
        check_escalation(*rbac, {.user = who, .info = info, .object = object, .before = before});
    return checked ? "" : checked.error().message;
  }
  static std::string plural(const api::Object& object) {
    return api::plural_of(object.gvk()) + ".rbac.authorization.k8s.io";
  }

  std::unique_ptr<Rbac> rbac;
};

TEST_F(EscalationTest, ARoleMayHoldWhatItsWriterHolds) {
  EXPECT_EQ(why(role("ns/x", kGetPods)), "");
  EXPECT_EQ(
      why(role("ns/x",
               R"({"verbs":["get","delete"],"apiGroups":[""],"resources":["pods","secrets"]})")),
      "roles.rbac.authorization.k8s.io \"x\" is forbidden: user \"u\" (groups=[\"g\"]) is "
      "attempting to grant RBAC permissions not currently held:\n"
      "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\"]}\n"
      "{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"delete\"]}");
  EXPECT_EQ(why(role("ns/x", kAll), nullptr, user("root", {kMasters})), "");
}

TEST_F(EscalationTest, SaysWhichRolesOfTheWriterAreNotThere) {
  create(binding("ns/lost", "Role/gone", {"Group/g"}));
  EXPECT_THAT(
      why(role("ns/x", R"({"verbs":["list"],"apiGroups":[""],"resources":["pods"]})")),
      ::testing::EndsWith("Verbs:[\"list\"]}; resolution errors: [role.rbac.authorization.k8s.io "
                          "\"gone\" not found]"));
}

TEST_F(EscalationTest, UpdatesThatChangeNoRightsPass) {
  const api::Object strong = registry.get(kRoles, {"ns", "strong"}).value();
  const api::Object owned = strong.edit([](api::json::object& document) {
    api::object_at(document, "metadata")["finalizers"] = api::json::array{"a/b"};
  });
  EXPECT_EQ(why(owned, &strong), "");
  const api::Object renamed = strong.edit([](api::json::object& document) {
    api::object_at(document, "metadata")["labels"] = api::json::object{{"a", "b"}};
  });
  EXPECT_THAT(why(renamed, &strong), ::testing::HasSubstr("not currently held"));
}

TEST_F(EscalationTest, TheVerbEscalateLetsRolesPass) {
  create(role("ns/trusted", R"({"verbs":["escalate"],"apiGroups":["rbac.authorization.k8s.io"],)"
                            R"("resources":["roles"]})"));
  create(binding("ns/trusted", "Role/trusted", {"User/u"}));
  EXPECT_EQ(why(role("ns/x", kAll)), "");
  EXPECT_NE(why(binding("ns/x", "Role/strong", {"User/u"})), "") << "it is not bind";
}

TEST_F(EscalationTest, ABindingMayGiveWhatItsWriterHolds) {
  EXPECT_EQ(why(binding("ns/x", "Role/reader", {"User/v"})), "");
  EXPECT_EQ(why(binding("ns/x", "Role/strong", {"User/v"})),
            "rolebindings.rbac.authorization.k8s.io \"x\" is forbidden: user \"u\" "
            "(groups=[\"g\"]) is attempting to grant RBAC permissions not currently held:\n"
            "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\"]}");
  EXPECT_EQ(why(binding("ns/x", "Role/gone", {"User/v"})),
            "roles.rbac.authorization.k8s.io \"gone\" not found");
}

TEST_F(EscalationTest, TheVerbBindLetsBindingsOfThatRolePass) {
  create(role("ns/binder", R"({"verbs":["bind"],"apiGroups":["rbac.authorization.k8s.io"],)"
                           R"("resources":["roles"],"resourceNames":["strong","later"]})"));
  create(binding("ns/binder", "Role/binder", {"User/u"}));
  EXPECT_EQ(why(binding("ns/x", "Role/strong", {"User/v"})), "");
  EXPECT_EQ(why(binding("ns/x", "Role/later", {"User/v"})), "") << "it need not be there";
  EXPECT_NE(why(binding("ns/x", "ClusterRole/strong", {"User/v"})), "");
}

TEST_F(EscalationTest, AnAggregationTakesAllRights) {
  const api::Object gathers = role("x", kGetPods).edit([](api::json::object& document) {
    document["aggregationRule"] =
        api::json::object{{"clusterRoleSelectors", api::json::array{api::json::object()}}};
  });
  create(role("reader", kGetPods));
  create(binding("reads", "ClusterRole/reader", {"User/u"}));
  const char* text = "clusterroles.rbac.authorization.k8s.io \"x\" is forbidden: must have "
                     "cluster-admin privileges to use an aggregationRule";
  EXPECT_EQ(why(gathers), text);
  EXPECT_EQ(why(role("x", kGetPods), &gathers), text) << "nor be taken away";
  create(role("all", kAll));
  create(binding("all", "ClusterRole/all", {"User/u"}));
  EXPECT_EQ(why(gathers), "");
}

TEST_F(EscalationTest, OtherKindsPass) {
  EXPECT_EQ(why(account("ns", "bot")), "");
}

} // namespace
} // namespace berth::server
