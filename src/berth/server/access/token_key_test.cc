#include "berth/server/access/token_key.h"

#include <gtest/gtest.h>

#include "berth/net/certificates.h"

namespace berth::server {
namespace {

TEST(TokenKey, VerifiesWhatItSigned) {
  const TokenKey key = TokenKey::generate().value();
  const std::string signature = key.sign("text").value();
  EXPECT_EQ(signature.size(), 64U);
  EXPECT_TRUE(key.verify("text", signature));
  EXPECT_FALSE(key.verify("texT", signature));
  for (std::size_t i = 0; i < signature.size(); ++i) {
    std::string wrong = signature;
    wrong[i] = static_cast<char>(wrong[i] ^ 1);
    EXPECT_FALSE(key.verify("text", wrong)) << i;
  }
  EXPECT_FALSE(key.verify("text", ""));
  EXPECT_FALSE(key.verify("text", signature.substr(1)));
  EXPECT_FALSE(key.verify("text", std::string(64, '\0')));
  EXPECT_FALSE(TokenKey::generate()->verify("text", signature));
}

TEST(TokenKey, KeepsItsNameThroughPem) {
  const TokenKey key = TokenKey::generate().value();
  const TokenKey again = TokenKey::from_pem(key.pem()).value();
  EXPECT_EQ(again.id(), key.id());
  EXPECT_EQ(key.id().size(), 43U);
  EXPECT_TRUE(again.verify("text", key.sign("text").value()));
  EXPECT_NE(TokenKey::generate()->id(), key.id());
}

TEST(TokenKey, TakesTheKeysOfTheClustersAuthority) {
  const auto pair = net::make_authority({.common_name = "ca",
                                         .organizations = {},
                                         .names = {},
                                         .not_before = TimePoint::from_unix_seconds(0),
                                         .not_after = TimePoint::from_unix_seconds(1)});
  ASSERT_TRUE(pair.has_value());
  EXPECT_TRUE(TokenKey::from_pem(pair->key).has_value());
  for (const std::string& wrong : {std::string(), std::string("-----BEGIN PRIVATE KEY-----"),
                                   pair->certificate, std::string(100, 'x')}) {
    const auto refused = TokenKey::from_pem(wrong);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Code::BadRequest);
  }
}

TEST(TokenKey, HashesAsSha256) {
  EXPECT_EQ(sha256("abc").substr(0, 4), "\xba\x78\x16\xbf");
  EXPECT_EQ(sha256("").size(), 32U);
  EXPECT_TRUE(equal_in_constant_time("ab", "ab"));
  EXPECT_FALSE(equal_in_constant_time("ab", "ac"));
  EXPECT_FALSE(equal_in_constant_time("ab", "abc"));
}

} // namespace
} // namespace berth::server
