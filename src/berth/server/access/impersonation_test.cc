#include "berth/server/access/impersonation.h"

#include "berth/server/access/access_fixture.h"

namespace berth::server {
namespace {

using ::testing::ElementsAre;

class ImpersonationTest : public AccessTest {
 protected:
  Answer<std::optional<User>> act(const net::HttpHeaders& headers) {
    net::HttpRequest request;
    request.target = "/api/v1/pods?limit=1";
    request.headers = headers;
    return impersonated(request, user("admin"), [&](const RequestInfo& what) {
      EXPECT_EQ(what.verb, "impersonate");
      asked.push_back(fmt::format("{}{}{} {}{}{}", what.resource, what.group.empty() ? "" : ".",
                                  what.group, what.subresource,
                                  what.ns.empty() ? "" : "@" + what.ns + "/",
                                  what.subresource.empty() ? what.name : "=" + what.name));
      return Decision{.allowed = asked.back() != refused, .reason = "why"};
    });
  }

  std::vector<std::string> asked;
  std::string refused;
};

TEST_F(ImpersonationTest, WithoutHeadersNobody) {
  EXPECT_EQ(act({{"Accept", "x"}}).value(), std::nullopt);
  EXPECT_EQ(act({{"Impersonate-User", ""}}).value(), std::nullopt);
  EXPECT_TRUE(asked.empty());
}

TEST_F(ImpersonationTest, AUserIsAuthenticated) {
  const auto other = act({{"impersonate-USER", "bob"}}).value();
  EXPECT_EQ(other->name, "bob");
  EXPECT_THAT(other->groups, ElementsAre(kAuthenticated));
  EXPECT_THAT(asked, ElementsAre("users bob"));
}

TEST_F(ImpersonationTest, EverythingIsAskedFor) {
  const auto other = act({{"Impersonate-User", "bob"},
                          {"Impersonate-Group", "dev"},
                          {"Impersonate-Group", "ops"},
                          {"Impersonate-Extra-Acme.com%2FProject", "x"},
                          {"Impersonate-Extra-Acme.com%2Fproject", "y"},
                          {"Impersonate-Extra-odd%zz", "z"},
                          {"Impersonate-Uid", "u-1"}})
                         .value();
  EXPECT_THAT(other->groups, ElementsAre("dev", "ops", kAuthenticated));
  EXPECT_THAT(other->extra.at("acme.com/project"), ElementsAre("x", "y"));
  EXPECT_THAT(other->extra.at("odd%zz"), ElementsAre("z"));
  EXPECT_EQ(other->uid, "u-1");
  EXPECT_THAT(asked, ElementsAre("users bob", "groups dev", "groups ops",
                                 "userextras.authentication.k8s.io acme.com/project=x",
                                 "userextras.authentication.k8s.io acme.com/project=y",
                                 "userextras.authentication.k8s.io odd%zz=z",
                                 "uids.authentication.k8s.io u-1"));
}

TEST_F(ImpersonationTest, AServiceAccountHasItsGroups) {
  const auto other = act({{"Impersonate-User", "system:serviceaccount:ns:bot"}}).value();
  EXPECT_THAT(other->groups,
              ElementsAre("system:serviceaccounts", "system:serviceaccounts:ns", kAuthenticated));
  EXPECT_THAT(asked, ElementsAre("serviceaccounts @ns/bot"));
  asked.clear();
  EXPECT_TRUE(act({{"Impersonate-User", "system:serviceaccount:n/s:bot"}}).has_value());
  EXPECT_THAT(asked, ElementsAre("users system:serviceaccount:n/s:bot"));
}

TEST_F(ImpersonationTest, NobodyIsUnauthenticated) {
  EXPECT_THAT(act({{"Impersonate-User", kAnonymous}}).value()->groups,
              ElementsAre(kUnauthenticated));
  EXPECT_THAT(
      act({{"Impersonate-User", "bob"}, {"Impersonate-Group", kUnauthenticated}}).value()->groups,
      ElementsAre(kUnauthenticated));
}

TEST_F(ImpersonationTest, RefusesWhatMayNotBeDone) {
  refused = "groups system:masters";
  const auto other = act({{"Impersonate-User", "bob"}, {"Impersonate-Group", kMasters}});
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().code, 403);
  EXPECT_EQ(other.error().message,
            R"(groups "system:masters" is forbidden: User "admin" cannot impersonate resource )"
            R"("groups" in API group "" at the cluster scope: why)");
}

TEST_F(ImpersonationTest, AGroupNeedsAUser) {
  const auto other = act({{"Impersonate-Group", "dev"}, {"Impersonate-Uid", "1"}});
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().code, 500);
  EXPECT_EQ(other.error().message,
            R"(Internal Server Error: "/api/v1/pods?limit=1": requested [{Group  dev    } )"
            R"({UID  1  authentication.k8s.io/v1  }] without impersonating a user)");
  EXPECT_TRUE(asked.empty());
}

TEST_F(ImpersonationTest, SurvivesAnyHeaders) {
  for (const char* name : {"Impersonate-Extra-", "Impersonate-Extra-%", "Impersonate-Extra-%4",
                           "Impersonate-", "Impersonate-Group"}) {
    for (const char* value : {"", "%", "\xff", "system:serviceaccount:", ":"}) {
      EXPECT_TRUE(
          act({{"Impersonate-User", "system:serviceaccount::"}, {name, value}}).has_value());
    }
  }
}

} // namespace
} // namespace berth::server
