#include "berth/cli/up/issued_tokens.h"

#include <gmock/gmock.h>

#include "berth/cli/up/virtual_up_fixture.h"

namespace berth::cli {
namespace {

class Tokens : public test::VirtualUp {
 protected:
  Result<client::Token> ask_for(const std::string& account, const std::string& uid) {
    std::optional<Result<client::Token>> got;
    tokens.request_token({.service_account = {"default", account},
                          .audience = "",
                          .expiration_seconds = 600,
                          .pod_name = "p",
                          .pod_uid = uid},
                         [&](Result<client::Token> token) { got = std::move(token); });
    EXPECT_FALSE(got.has_value()) << "never inside the call";
    loop.run_until(loop.now());
    return *std::move(got);
  }

  IssuedTokens tokens{loop, [this] { return server.get(); }};
};

TEST_F(Tokens, AreThoseOfTheServer) {
  ASSERT_EQ(ask("POST", "/api/v1/namespaces/default/serviceaccounts",
                R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"bot"}})")
                .status,
            201);
  const auto made = ask("POST", "/api/v1/namespaces/default/pods",
                        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{)"
                        R"("serviceAccountName":"bot","containers":[{"name":"c","image":"x"}]}})");
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string uid(api::string_at(get("/api/v1/namespaces/default/pods/p"), "metadata.uid"));
  const auto token = ask_for("bot", uid);
  ASSERT_TRUE(token.has_value()) << token.error().message;
  EXPECT_EQ(token->expires, loop.now() + Duration::minutes(10));
  EXPECT_EQ(token->life, Duration::minutes(10));
  const auto review = api::parse_json(
      ask("POST", "/apis/authentication.k8s.io/v1/tokenreviews",
          R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":")" +
              token->text + R"("}})")
          .body);
  ASSERT_TRUE(review.has_value());
  EXPECT_EQ(api::string_at(*review, "status.user.username"), "system:serviceaccount:default:bot");
  EXPECT_EQ(api::to_json(review->at("status").at("user").at("extra").at(
                "authentication.kubernetes.io/pod-name")),
            R"(["p"])");
  EXPECT_EQ(ask_for("nobody", uid).error().code, Code::NotFound);
  EXPECT_EQ(ask_for("bot", "of another life").error().code, Code::Conflict);
}

TEST_F(Tokens, AreNotThereBeforeTheServer) {
  server.reset();
  EXPECT_EQ(ask_for("bot", "u").error().code, Code::Unavailable);
}

} // namespace
} // namespace berth::cli
