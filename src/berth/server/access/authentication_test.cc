#include "berth/server/access/authentication.h"

#include "berth/server/access/access_fixture.h"

namespace berth::server {
namespace {

struct Case {
  const char* name;
  const char* certificate; ///< "CN/O,O"; null for none
  const char* header;      ///< Authorization; null for none
  const char* user;        ///< null: 401
  std::vector<std::string> groups;
};

class AuthenticationTest : public AccessTest, public ::testing::WithParamInterface<Case> {
 protected:
  static net::HttpRequest request(const char* certificate, const char* header) {
    net::HttpRequest made;
    if (certificate != nullptr) {
      const std::string text = certificate;
      made.peer = net::Peer{.common_name = text.substr(0, text.find('/')), .organizations = {}};
      if (text.find('/') != std::string::npos) {
        made.peer->organizations.push_back(text.substr(text.find('/') + 1));
      }
    }
    if (header != nullptr) {
      made.headers.emplace_back("authorization", header);
    }
    return made;
  }
  static StaticTokens file() {
    return StaticTokens::parse("secret,alice,u1,\"dev,ops\"\nsystem,kit,u2,system:unauthenticated",
                               "f")
        .value();
  }

  ServiceAccountTokens accounts{registry, TokenKey::generate().value(), {}, Rng(1)};
  Authenticator authenticator{file(), accounts, Anonymous::Allowed};
};

TEST_P(AuthenticationTest, NamesWhoAsks) {
  const Case& want = GetParam();
  const auto user = authenticator.authenticate(request(want.certificate, want.header), now);
  if (want.user == nullptr) {
    ASSERT_FALSE(user.has_value());
    EXPECT_EQ(user.error().code, 401);
    EXPECT_EQ(user.error().reason, "Unauthorized");
    EXPECT_EQ(user.error().message, "Unauthorized");
    EXPECT_TRUE(user.error().details.is_null());
    return;
  }
  ASSERT_TRUE(user.has_value());
  EXPECT_EQ(user->name, want.user);
  EXPECT_EQ(user->groups, want.groups);
}

INSTANTIATE_TEST_SUITE_P(
    Requests, AuthenticationTest,
    ::testing::Values(
        Case{"nobody", nullptr, nullptr, kAnonymous, {kUnauthenticated}},
        Case{"certificate", "root/system:masters", nullptr, "root", {kMasters, kAuthenticated}},
        Case{"certificate_without_name", "/dev", nullptr, kAnonymous, {kUnauthenticated}},
        Case{"anonymous_certificate", "system:anonymous", nullptr, kAnonymous, {}},
        Case{"token", nullptr, "Bearer secret", "alice", {"dev", "ops", kAuthenticated}},
        Case{"any_case", nullptr, "  bEARER secret", "alice", {"dev", "ops", kAuthenticated}},
        Case{"more_after_the_token",
             nullptr,
             "Bearer secret x",
             "alice",
             {"dev", "ops", kAuthenticated}},
        Case{"said_to_be_unauthenticated", nullptr, "Bearer system", "kit", {kUnauthenticated}},
        Case{"wrong_token", nullptr, "Bearer wrong", nullptr, {}},
        Case{"looks_like_a_jwt", nullptr, "Bearer a.b.c", nullptr, {}},
        Case{"no_token", nullptr, "Bearer", kAnonymous, {kUnauthenticated}},
        Case{"empty_token", nullptr, "Bearer  secret", kAnonymous, {kUnauthenticated}},
        Case{"other_scheme", nullptr, "Basic c2VjcmV0", kAnonymous, {kUnauthenticated}},
        Case{"certificate_speaks_first", "root", "Bearer wrong", "root", {kAuthenticated}}),
    [](const auto& given) { return given.param.name; });

using Authentication = AuthenticationTest;

TEST_F(Authentication, MayRefuseTheAnonymous) {
  const Authenticator strict(file(), accounts, Anonymous::Refused);
  EXPECT_FALSE(strict.authenticate(request(nullptr, nullptr), now).has_value());
  EXPECT_FALSE(strict.authenticate(request(nullptr, "Basic x"), now).has_value());
  EXPECT_TRUE(strict.authenticate(request(nullptr, "Bearer secret"), now).has_value());
}

TEST_F(Authentication, TakesServiceAccountTokens) {
  create(account("ns", "bot"));
  const auto answer = accounts.request({"ns", "bot"}, api::json::object(), now).value();
  const std::string header = "Bearer " + std::string(answer.at("status").at("token").as_string());
  const auto user = authenticator.authenticate(request(nullptr, header.c_str()), now);
  ASSERT_TRUE(user.has_value());
  EXPECT_EQ(user->name, "system:serviceaccount:ns:bot");
  EXPECT_THAT(user->groups, ::testing::ElementsAre("system:serviceaccounts",
                                                   "system:serviceaccounts:ns", kAuthenticated));
}

TEST_F(Authentication, TokensOfTheFileAreForThisServer) {
  EXPECT_TRUE(authenticator.review("secret", {}, now));
  EXPECT_TRUE(authenticator.review("secret", accounts.audiences(), now));
  EXPECT_FALSE(authenticator.review("secret", {"vault"}, now));
}

} // namespace
} // namespace berth::server
