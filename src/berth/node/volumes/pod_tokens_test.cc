#include "berth/node/volumes/pod_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::node {
namespace {

using testing::HasSubstr;

const TimePoint kIssued = TimePoint::from_unix_seconds(1'700'000'000);

client::Token token(Duration life, std::string text = "t") {
  return {.text = std::move(text), .expires = kIssued + life, .life = life};
}

struct Case {
  std::string name;
  Duration life;
  Duration age;
  Duration jitter;
  bool want;
};
class Renewal : public testing::TestWithParam<Case> {};
TEST_P(Renewal, IsDue) {
  const Case& each = GetParam();
  EXPECT_EQ(needs_renewal(token(each.life), kIssued + each.age, each.jitter), each.want);
}
INSTANTIATE_TEST_SUITE_P(
    Cases, Renewal,
    testing::Values(
        Case{"New", Duration::hours(1), Duration(), Duration(), false},
        Case{"FourFifths", Duration::hours(1), Duration::minutes(48), Duration(), false},
        Case{"Later", Duration::hours(1), Duration::minutes(49), Duration(), true},
        Case{"SoonerByJitter", Duration::hours(1), Duration::minutes(48), Duration::seconds(1),
             true},
        Case{"Expired", Duration::hours(1), Duration::hours(2), Duration(), true},
        Case{"ADayOfALongLife", Duration::hours(24 * 365), Duration::hours(24), Duration(), false},
        Case{"MoreThanADay", Duration::hours(24 * 365), Duration::hours(25), Duration(), true},
        Case{"AlmostADay", Duration::hours(24 * 365), Duration::hours(24) - Duration::seconds(5),
             Duration::seconds(6), true}),
    [](const auto& each) { return each.param.name; });

TEST(PodTokens, AreKeptByWhatTheyAreFor) {
  PodTokens tokens;
  const TokenWish vault{.audience = "vault"};
  EXPECT_EQ(tokens.fresh({}, "u", kIssued), std::nullopt);
  EXPECT_EQ(tokens.answered({}, token(Duration::hours(1), "a"), kIssued).value(), "a");
  EXPECT_EQ(tokens.answered(vault, token(Duration::hours(1), "b"), kIssued).value(), "b");
  EXPECT_EQ(tokens.fresh({}, "u", kIssued), "a");
  EXPECT_EQ(tokens.fresh(vault, "u", kIssued), "b");
  EXPECT_EQ(tokens.fresh(vault, "u", kIssued + Duration::minutes(49)), std::nullopt);
}

TEST(PodTokens, PodsDoNotAllAskAtOnce) {
  PodTokens tokens;
  ASSERT_TRUE(tokens.answered({}, token(Duration::hours(1)), kIssued).has_value());
  int asking = 0;
  for (int pod = 0; pod < 100; ++pod) {
    const TimePoint soon = kIssued + Duration::minutes(48) - Duration::seconds(5);
    asking += tokens.fresh({}, "pod-" + std::to_string(pod), soon) ? 0 : 1;
  }
  EXPECT_GT(asking, 20);
  EXPECT_LT(asking, 80);
}

TEST(PodTokens, AnOldOneIsShownWhileItIsGoodAndNobodyAnswers) {
  PodTokens tokens;
  const Result<client::Token> away = fail(Code::Unavailable, "connection refused");
  EXPECT_EQ(tokens.answered({}, away, kIssued).error().message, "connection refused");
  ASSERT_TRUE(tokens.answered({}, token(Duration::hours(1), "old"), kIssued).has_value());
  EXPECT_EQ(tokens.answered({}, away, kIssued + Duration::minutes(59)).value(), "old");
  EXPECT_EQ(tokens.fresh({}, "u", kIssued + Duration::minutes(59)), std::nullopt)
      << "it is asked for again";
  EXPECT_THAT(tokens.answered({}, away, kIssued + Duration::minutes(61)).error().message,
              HasSubstr("the old one has expired, and: connection refused"));
}

} // namespace
} // namespace berth::node
