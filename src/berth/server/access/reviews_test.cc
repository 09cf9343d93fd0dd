#include "berth/server/access/reviews.h"

#include "berth/server/access/access_fixture.h"

namespace berth::server {
namespace {

class ReviewsTest : public AccessTest {
 protected:
  void SetUp() override {
    rbac = Rbac::open(registry).value();
    create(role("ns/r", R"({"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]})"));
    create(binding("ns/rb", "Role/r", {"User/u", "Group/g"}));
    create(role("probe", R"({"verbs":["get"],"nonResourceURLs":["/healthz"]})"));
    create(binding("probes", "ClusterRole/probe", {"User/u"}));
  }
  static api::json::value body(std::string_view spec) {
    return api::parse_json(fmt::format(R"({{"spec":{}}})", spec)).value();
  }
  static std::string status(const Answer<boost::json::object>& answer) {
    return answer ? api::to_json(answer->at("status")) : answer.error().message;
  }

  std::unique_ptr<Rbac> rbac;
};

TEST_F(ReviewsTest, SayWhetherSomebodyMay) {
  EXPECT_EQ(
      status(review_access(
          *rbac,
          body(
              R"({"user":"x","groups":["g"],"resourceAttributes":{"namespace":"ns","verb":"get","resource":"pods","name":"a"}})"))),
      R"({"allowed":true,"reason":"RBAC: allowed by RoleBinding \"rb/ns\" of Role \"r\" to Group \"g\""})");
  EXPECT_EQ(
      status(review_access(
          *rbac,
          body(
              R"({"user":"x","resourceAttributes":{"namespace":"ns","verb":"get","resource":"pods"}})"))),
      R"({"allowed":false})");
  EXPECT_EQ(
      status(review_access(
          *rbac, body(R"({"user":"u","nonResourceAttributes":{"verb":"get","path":"/healthz"}})"))),
      R"({"allowed":true,"reason":"RBAC: allowed by ClusterRoleBinding \"probes\" of ClusterRole \"probe\" to User \"u\""})");
}

TEST_F(ReviewsTest, OneselfIsNotNamed) {
  const auto mine = [&](std::string_view attributes) {
    return status(review_own_access(
        *rbac, user("u"), body(fmt::format(R"({{"resourceAttributes":{}}})", attributes))));
  };
  EXPECT_EQ(mine(R"({"namespace":"ns","verb":"delete","resource":"pods"})"),
            R"({"allowed":false})");
  EXPECT_THAT(mine(R"({"namespace":"ns","verb":"list","resource":"pods"})"),
              ::testing::StartsWith(R"({"allowed":true)"));
}

TEST_F(ReviewsTest, KeepTheQuestion) {
  const auto answer = review_own_access(
      *rbac, user("u"), body(R"({"resourceAttributes":{"verb":"get","resource":"pods"}})"));
  EXPECT_EQ(
      api::to_json(*answer),
      R"({"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}},"status":{"allowed":false}})");
}

TEST_F(ReviewsTest, RefuseQuestionsThatAreNone) {
  EXPECT_EQ(
      status(review_own_access(*rbac, user("u"), body("{}"))),
      R"(SelfSubjectAccessReview.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified)");
  EXPECT_EQ(
      status(review_access(
          *rbac,
          body(
              R"({"user":"u","resourceAttributes":{},"nonResourceAttributes":{"path":"/x","verb":"get"}})"))),
      R"(SubjectAccessReview.authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: cannot be specified in combination with resourceAttributes)");
  EXPECT_EQ(
      status(review_access(*rbac, body(R"({"resourceAttributes":{}})"))),
      R"(SubjectAccessReview.authorization.k8s.io "" is invalid: spec.user: Invalid value: "": at least one of user or group must be specified)");
  EXPECT_EQ(
      status(review_own_access(
          *rbac, user("u"),
          api::parse_json(R"({"metadata":{"name":"x"},"spec":{"resourceAttributes":{}}})")
              .value())),
      R"(SelfSubjectAccessReview.authorization.k8s.io "" is invalid: metadata: Invalid value: {"name":"x"}: must be empty)");
  EXPECT_FALSE(review_own_access(*rbac, user("u"), nullptr).has_value());
}

TEST_F(ReviewsTest, LocalOnesStayInTheirNamespace) {
  const auto in = [&](const std::string& ns) {
    return status(review_local_access(
        *rbac, ns,
        body(
            R"({"user":"u","resourceAttributes":{"namespace":"ns","verb":"get","resource":"pods"}})")));
  };
  EXPECT_THAT(in("ns"), ::testing::StartsWith(R"({"allowed":true)"));
  EXPECT_EQ(in("other"), "spec.resourceAttributes.namespace must match namespace: other");
  EXPECT_THAT(
      status(review_local_access(
          *rbac, "ns", body(R"({"user":"u","nonResourceAttributes":{"path":"/","verb":"get"}})"))),
      ::testing::EndsWith("disallowed on this kind of request"));
}

TEST_F(ReviewsTest, ListWhatOneMay) {
  EXPECT_EQ(
      status(review_own_rules(*rbac, user("u"), body(R"({"namespace":"ns"})"))),
      R"({"resourceRules":[{"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]}],"nonResourceRules":[{"verbs":["get"],"nonResourceURLs":["/healthz"]}],"incomplete":false})");
  EXPECT_EQ(status(review_own_rules(*rbac, user("x"), body(R"({"namespace":"ns"})"))),
            R"({"resourceRules":[],"nonResourceRules":[],"incomplete":false})");
  EXPECT_EQ(status(review_own_rules(*rbac, user("u"), body("{}"))), "no namespace on request");
  create(binding("ns/lost", "Role/gone", {"User/x"}));
  EXPECT_THAT(status(review_own_rules(*rbac, user("x"), body(R"({"namespace":"ns"})"))),
              ::testing::HasSubstr(
                  R"("evaluationError":"role.rbac.authorization.k8s.io \"gone\" not found")"));
}

TEST_F(ReviewsTest, TellWhoATokenIs) {
  StaticTokens tokens;
  tokens.add("secret", {.name = "alice", .uid = "1", .groups = {"dev"}, .extra = {}});
  const ServiceAccountTokens accounts(registry, TokenKey::generate().value(), {.issuer = "me"},
                                      Rng(1));
  const Authenticator authenticator(std::move(tokens), accounts, Anonymous::Allowed);
  const auto review = [&](std::string_view spec) {
    return status(review_token(authenticator, body(spec), now));
  };
  EXPECT_EQ(
      review(R"({"token":"secret"})"),
      R"({"authenticated":true,"user":{"username":"alice","uid":"1","groups":["dev","system:authenticated"]},"audiences":["me"]})");
  EXPECT_EQ(review(R"({"token":"wrong"})"), R"({"user":{},"error":"invalid bearer token"})");
  EXPECT_EQ(review(R"({"token":"secret","audiences":["vault"]})"),
            R"({"user":{},"error":"invalid bearer token"})");
  EXPECT_EQ(review("{}"), "token is required for TokenReview in authentication");
}

TEST_F(ReviewsTest, TellWhoOneIs) {
  User me = user("u", {kAuthenticated});
  me.extra["a/b"] = {"c"};
  EXPECT_EQ(
      api::to_json(review_self(me, now)),
      R"({"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","metadata":{"creationTimestamp":"2023-11-14T22:13:20Z"},"status":{"userInfo":{"username":"u","groups":["system:authenticated"],"extra":{"a/b":["c"]}}}})");
}

} // namespace
} // namespace berth::server
