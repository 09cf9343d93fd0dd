#include "berth/server/access/static_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"

namespace berth::server {
namespace {

using ::testing::ElementsAre;

TEST(StaticTokens, ReadsKubernetesCsv) {
  const auto tokens = StaticTokens::parse("t1,alice,u1\r\n"
                                          "\n"
                                          "t2,\"bob \"\"b\"\", jr\",u2,\"dev,ops\"\n"
                                          "t3,carol,u3,dev,ignored",
                                          "tokens.csv");
  ASSERT_TRUE(tokens.has_value()) << to_string(tokens.error());
  ASSERT_NE(tokens->find("t1"), nullptr);
  EXPECT_EQ(tokens->find("t1")->name, "alice");
  EXPECT_EQ(tokens->find("t1")->uid, "u1");
  EXPECT_TRUE(tokens->find("t1")->groups.empty());
  EXPECT_EQ(tokens->find("t2")->name, "bob \"b\", jr");
  EXPECT_THAT(tokens->find("t2")->groups, ElementsAre("dev", "ops"));
  EXPECT_THAT(tokens->find("t3")->groups, ElementsAre("dev"));
  for (const char* wrong : {"", "t", "t11", "T1", "alice"}) {
    EXPECT_EQ(tokens->find(wrong), nullptr) << wrong;
  }
}

struct Bad {
  const char* text;
  const char* where;
  const char* what;
};

TEST(StaticTokens, SaysWhereTheFileIsWrong) {
  for (const Bad& bad : std::initializer_list<Bad>{
           {"a,b\n", "f.csv:1", "needs at least 3 columns (token, user name, user uid), found 2"},
           {"a,b,c\n\n,b,c\n", "f.csv:3", "the token is empty"},
           {"a,b,c\na,d,e\n", "f.csv:2", "the token was given before"},
           {"a,\"b,c\nd,e,f\n", "f.csv:1", "a quote that is not closed"},
           {"a,b\"x,c\n", "f.csv:1", "a quote in a field that has none around it"},
           {"a,\"b\"x,c\n", "f.csv:1", "text follows a closing quote"},
       }) {
    const auto tokens = StaticTokens::parse(bad.text, "f.csv");
    ASSERT_FALSE(tokens.has_value()) << bad.text;
    EXPECT_EQ(to_string(*tokens.error().where), bad.where) << bad.text;
    EXPECT_THAT(tokens.error().message, ::testing::HasSubstr(bad.what));
    EXPECT_THAT(tokens.error().message, ::testing::Not(::testing::HasSubstr("a,b")));
  }
}

TEST(StaticTokens, SurvivesAnyText) {
  Rng rng(3);
  int good = 0;
  for (int turn = 0; turn < 2000; ++turn) {
    std::string text;
    for (std::uint64_t i = rng.below(24); i > 0; --i) {
      text += "a,\"\n\rb"[rng.below(6)];
    }
    good += StaticTokens::parse(text, "f").has_value() ? 1 : 0;
  }
  EXPECT_GT(good, 0);
}

} // namespace
} // namespace berth::server
