#include "berth/server/access/service_account_tokens.h"

#include "berth/server/access/access_fixture.h"
#include "berth/server/access/base64url.h"

namespace berth::server {
namespace {

class TokensTest : public AccessTest {
 protected:
  void SetUp() override { bot = create(account("ns", "bot")); }

  Answer<boost::json::object> ask(std::string_view body, const std::string& name = "bot") {
    return tokens.request({"ns", name}, api::parse_json(body).value(), now);
  }
  std::string token(std::string_view body = "{}") {
    return std::string(ask(body).value().at("status").at("token").as_string());
  }
  std::optional<TokenBearer> verify(std::string_view text, Duration later = Duration()) {
    return tokens.verify(text, tokens.audiences(), now + later);
  }
  static api::json::value part(const std::string& text, int index) {
    const std::size_t first = text.find('.');
    const std::size_t last = text.rfind('.');
    return api::parse_json(*from_base64url(index == 0 ? std::string_view(text).substr(0, first)
                                                      : std::string_view(text).substr(
                                                            first + 1, last - first - 1)))
        .value();
  }
  api::Object pod(const std::string& name, const std::string& of) {
    return create(parsed(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"ns"}},)"
        R"("spec":{{"serviceAccountName":"{}","containers":[{{"name":"c","image":"x"}}]}}}})",
        name, of)));
  }

  api::Object bot;
  TokenKey key = TokenKey::generate().value();
  ServiceAccountTokens tokens{registry, key, {.issuer = "https://berth"}, Rng(5)};
};

TEST_F(TokensTest, AnswersATokenRequest) {
  const auto answer = ask(R"({"spec":{"expirationSeconds":7200}})");
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(answer->at("kind").as_string(), "TokenRequest");
  EXPECT_EQ(answer->at("metadata").at("name").as_string(), "bot");
  EXPECT_EQ(answer->at("spec").at("audiences").at(0).as_string(), "https://berth");
  EXPECT_EQ(std::string(answer->at("status").at("expirationTimestamp").as_string()),
            to_rfc3339(now + Duration::hours(2)));
}

TEST_F(TokensTest, ClaimsWhatBoundTokensClaim) {
  const std::string text = token();
  EXPECT_EQ(api::to_json(part(text, 0)), fmt::format(R"({{"alg":"ES256","kid":"{}"}})", key.id()));
  const api::json::value claims = part(text, 1);
  EXPECT_EQ(api::string_at(claims, "iss"), "https://berth");
  EXPECT_EQ(api::string_at(claims, "sub"), "system:serviceaccount:ns:bot");
  EXPECT_EQ(claims.at("iat").as_int64(), now.unix_seconds());
  EXPECT_EQ(claims.at("nbf").as_int64(), now.unix_seconds());
  EXPECT_EQ(claims.at("exp").as_int64(), now.unix_seconds() + 3600);
  EXPECT_EQ(api::to_json(claims.at("kubernetes.io")),
            fmt::format(R"({{"namespace":"ns","serviceaccount":{{"name":"bot","uid":"{}"}}}})",
                        bot.meta().uid));
}

TEST_F(TokensTest, NamesTheAccount) {
  const std::string text = token();
  const auto bearer = verify(text);
  ASSERT_TRUE(bearer.has_value());
  EXPECT_EQ(bearer->user.name, "system:serviceaccount:ns:bot");
  EXPECT_EQ(bearer->user.uid, bot.meta().uid);
  EXPECT_THAT(bearer->user.groups,
              ::testing::ElementsAre("system:serviceaccounts", "system:serviceaccounts:ns"));
  EXPECT_EQ(bearer->user.extra.at("authentication.kubernetes.io/credential-id").front(),
            "JTI=" + std::string(api::string_at(part(text, 1), "jti")));
}

TEST_F(TokensTest, AreGoodForTheirTime) {
  const std::string text = token();
  EXPECT_TRUE(verify(text, Duration::minutes(60)));
  EXPECT_TRUE(verify(text, Duration::minutes(61))) << "clocks differ by a minute";
  EXPECT_FALSE(verify(text, Duration::minutes(61) + Duration::seconds(1)));
  EXPECT_TRUE(verify(text, Duration::seconds(-60)));
  EXPECT_FALSE(verify(text, Duration::seconds(-61)));
}

TEST_F(TokensTest, AreGoodForTheirAudience) {
  const std::string text = token(R"({"spec":{"audiences":["vault","db"]}})");
  EXPECT_FALSE(verify(text)) << "not this server";
  const auto bearer = tokens.verify(text, {"db", "x"}, now);
  ASSERT_TRUE(bearer.has_value());
  EXPECT_THAT(bearer->audiences, ::testing::ElementsAre("db"));
}

TEST_F(TokensTest, GoWithTheirAccount) {
  const std::string text = token();
  remove({"", "ServiceAccount"}, {"ns", "bot"});
  EXPECT_FALSE(verify(text));
  create(account("ns", "bot"));
  EXPECT_FALSE(verify(text)) << "another account of that name";
  EXPECT_TRUE(verify(token()));
}

TEST_F(TokensTest, GoWithTheirPod) {
  const api::Object made = pod("p", "bot");
  const std::string text =
      token(R"({"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}}})");
  const auto bearer = verify(text);
  ASSERT_TRUE(bearer.has_value());
  EXPECT_EQ(bearer->user.extra.at("authentication.kubernetes.io/pod-name").front(), "p");
  EXPECT_EQ(bearer->user.extra.at("authentication.kubernetes.io/pod-uid").front(), made.meta().uid);
  store::DeleteOptions at_once;
  at_once.grace_period_seconds = 0;
  ASSERT_TRUE(registry.remove(store::kPods, {"ns", "p"}, at_once, now).has_value());
  EXPECT_FALSE(verify(text));
}

struct Bad {
  const char* body;
  int code;
  const char* message;
};

TEST_F(TokensTest, RefusesRequestsInKubernetesWords) {
  pod("p", "other");
  for (
      const Bad& bad : std::initializer_list<Bad>{
          {R"({"metadata":{"name":"x"}})", 422,
           R"(TokenRequest.authentication.k8s.io "bot" is invalid: metadata.name: Invalid value: "x": must match the service account name if specified)"},
          {R"({"metadata":{"namespace":"x"}})", 422,
           R"(TokenRequest.authentication.k8s.io "bot" is invalid: metadata.namespace: Invalid value: "x": must match the service account namespace if specified)"},
          {R"({"spec":{"expirationSeconds":599}})", 422,
           R"(TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes)"},
          {R"({"spec":{"expirationSeconds":4294967297}})", 422,
           R"(TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds)"},
          {R"({"spec":{"boundObjectRef":{"kind":"Job","apiVersion":"batch/v1","name":"p"}}})", 400,
           "cannot bind token to object of type batch/v1, Kind=Job"},
          {R"({"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"q"}}})", 404,
           R"(pods "q" not found)"},
          {R"({"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}}})", 400,
           R"(cannot bind token for serviceaccount "bot" to pod running with different serviceaccount name.)"},
          {"[]", 400, "a TokenRequest is expected"},
      }) {
    const auto answer = ask(bad.body);
    ASSERT_FALSE(answer.has_value()) << bad.body;
    EXPECT_EQ(answer.error().code, bad.code);
    EXPECT_EQ(answer.error().message, bad.message);
  }
  EXPECT_EQ(ask("{}", "none").error().message, R"(serviceaccounts "none" not found)");
}

TEST_F(TokensTest, RefusesWhatItDidNotSign) {
  const std::string text = token();
  const std::string body = text.substr(0, text.rfind('.'));
  const ServiceAccountTokens others(registry, TokenKey::generate().value(),
                                    {.issuer = "https://berth"}, Rng(5));
  EXPECT_FALSE(others.verify(text, tokens.audiences(), now));
  const ServiceAccountTokens elsewhere(registry, key, {.issuer = "https://other"}, Rng(5));
  EXPECT_FALSE(elsewhere.verify(text, tokens.audiences(), now));
  // "none" is no algorithm, and neither is one that takes the public key for a secret.
  for (const char* head : {R"({"alg":"none"})", R"({"alg":"HS256"})", "{}", "[]", "x"}) {
    const std::string other = to_base64url(head) + body.substr(body.find('.'));
    EXPECT_FALSE(verify(other + "."));
    EXPECT_FALSE(verify(other + "." + to_base64url(key.sign(other).value()))) << head;
  }
}

TEST_F(TokensTest, RefusesClaimsThatAreSignedButWrong) {
  const auto sign = [&](std::string_view claims) {
    const std::string text = to_base64url(R"({"alg":"ES256"})") + "." + to_base64url(claims);
    return text + "." + to_base64url(key.sign(text).value());
  };
  const std::string good = api::to_json(part(token(), 1));
  EXPECT_TRUE(verify(sign(good)));
  for (const char* wrong :
       {"", "null", "[]", "{}", R"({"kubernetes.io":{}})", R"({"kubernetes.io":[],"iss":1})",
        R"({"iss":"https://berth","kubernetes.io":{"namespace":"ns"},"exp":1e99,"nbf":"x"})"}) {
    EXPECT_FALSE(verify(sign(wrong))) << wrong;
  }
  std::string renamed = good;
  renamed.replace(renamed.find("serviceaccount:ns:bot"), 21, "serviceaccount:ns:pet");
  EXPECT_FALSE(verify(sign(renamed)));
}

TEST_F(TokensTest, SurvivesBrokenTokens) {
  const std::string text = token();
  Rng rng(11);
  for (int turn = 0; turn < 1000; ++turn) {
    std::string broken = text;
    for (std::uint64_t i = rng.below(4) + 1; i > 0; --i) {
      const std::size_t at = rng.below(broken.size());
      switch (rng.below(3)) {
      case 0:
        broken[at] = static_cast<char>(rng.below(256));
        break;
      case 1:
        broken.erase(at, rng.below(20) + 1);
        break;
      default:
        broken.insert(at, std::string(rng.below(3) + 1, "._-A"[rng.below(4)]));
      }
      if (broken.empty()) {
        break;
      }
    }
    ASSERT_EQ(verify(broken).has_value(), broken == text) << broken;
  }
  for (const std::string& odd : {std::string(), std::string("."), std::string(".."),
                                 std::string("..."), std::string(100'000, 'a')}) {
    EXPECT_FALSE(verify(odd));
  }
}

} // namespace
} // namespace berth::server
