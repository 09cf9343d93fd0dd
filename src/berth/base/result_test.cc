#include "berth/base/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/assert.h"
#include "berth/base/id.h"
#include "berth/base/rng.h"

namespace berth {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) {
    return fail(Code::Invalid, "odd: " + std::to_string(n));
  }
  return n / 2;
}

Result<int> quarter(int n) {
  BERTH_TRY(const int once, half(n));
  BERTH_TRY(const int twice, half(once));
  return twice;
}

Result<void> check_even(int n) {
  BERTH_CHECK(half(n));
  return {};
}

TEST(Result, TryPassesTheFirstErrorOn) {
  EXPECT_EQ(quarter(8), 2);
  EXPECT_EQ(quarter(6).error().message, "odd: 3");
  EXPECT_TRUE(check_even(2).has_value());
  EXPECT_EQ(check_even(3).error().code, Code::Invalid);
}

TEST(Result, CodesMapToKubernetesReasonsAndStatuses) {
  EXPECT_EQ(to_string(Code::AlreadyExists), "AlreadyExists");
  EXPECT_EQ(http_status(Code::AlreadyExists), 409);
  EXPECT_EQ(http_status(Code::Invalid), 422);
  EXPECT_EQ(http_status(Code::Expired), 410);
  EXPECT_EQ(http_status(Code::TooManyRequests), 429);
  EXPECT_EQ(to_string(Code::Internal), "InternalError");
  EXPECT_EQ(to_string(Code::Unavailable), "ServiceUnavailable");
}

TEST(Where, LeavesOutWhatIsUnknown) {
  EXPECT_EQ(to_string(Where{.file = "f", .line = 3, .column = 5, .field = "spec"}), "f:3:5: spec");
  EXPECT_EQ(to_string(Where{.file = "f", .line = 3, .column = 0, .field = ""}), "f:3");
  EXPECT_EQ(to_string(Where{.file = "", .line = 3, .column = 5, .field = ""}), "line 3:5");
  EXPECT_EQ(to_string(Where{.file = "", .line = 0, .column = 0, .field = "spec"}), "spec");
  EXPECT_EQ(to_string(Where{}), "");
}

TEST(Error, PrintsPlaceMessageAndCauses) {
  Error error{.code = Code::Invalid,
              .message = "bad",
              .where = Where{.file = "f", .line = 1, .column = 0, .field = ""},
              .causes = {}};
  error.causes.push_back({.code = Code::NotFound, .message = "a", .where = {}, .causes = {}});
  error.causes.push_back({.code = Code::NotFound, .message = "b", .where = {}, .causes = {}});
  EXPECT_EQ(to_string(error), "f:1: bad (a; b)");
}

TEST(Error, DoesNotRepeatFieldCausesThatItsMessageQuotes) {
  Error error{.code = Code::Invalid, .message = "Pod \"a\" is invalid: spec.x: Required value"};
  error.causes.push_back(
      {.code = Code::Invalid, .message = "Required value", .where = Where{.field = "spec.x"}});
  EXPECT_EQ(to_string(error), "Pod \"a\" is invalid: spec.x: Required value");
  error.causes.push_back(
      {.code = Code::Invalid, .message = "Required value", .where = Where{.field = "spec.y"}});
  EXPECT_EQ(to_string(error),
            "Pod \"a\" is invalid: spec.x: Required value (spec.y: Required value)");
}

TEST(Interner, GivesDenseIdsInOrderOfFirstSight) {
  using NodeId = Id<struct NodeTag>;
  Interner<NodeId> names;
  const NodeId a = names.intern("a");
  const NodeId b = names.intern("b");
  EXPECT_EQ(names.intern("a"), a);
  EXPECT_EQ(a.index(), 0U);
  EXPECT_EQ(b.index(), 1U);
  EXPECT_EQ(names.name(b), "b");
  EXPECT_EQ(names.find("b"), b);
  EXPECT_FALSE(names.find("c").has_value());
  EXPECT_EQ(names.size(), 2U);
  EXPECT_FALSE(NodeId().valid());
  EXPECT_TRUE(a.valid());
}

TEST(Rng, TheSequenceOfASeedIsFixed) {
  Rng rng(42);
  EXPECT_EQ(rng.next(), 13930160852258120406ULL);
  EXPECT_EQ(Rng(7).uuid(), Rng(7).uuid());
  EXPECT_EQ(Rng(7).name_suffix(), Rng(7).name_suffix());
  EXPECT_NE(Rng(7).fork(1).next(), Rng(7).fork(2).next());
}

TEST(Rng, StaysInRangeAndReachesAllOfIt) {
  Rng rng(3);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t value = rng.between(-2, 2);
    ASSERT_GE(value, -2);
    ASSERT_LE(value, 2);
    seen.insert(value);
    ASSERT_LT(rng.below(7), 7U);
  }
  EXPECT_EQ(seen.size(), 5U);
  EXPECT_EQ(rng.between(5, 5), 5);
  rng.between(INT64_MIN, INT64_MAX);
}

TEST(Rng, UuidsAreVersionFour) {
  Rng rng(9);
  for (int i = 0; i < 200; ++i) {
    const std::string uuid = rng.uuid();
    ASSERT_EQ(uuid.size(), 36U);
    ASSERT_EQ(uuid[14], '4') << uuid;
    ASSERT_NE(std::string("89ab").find(uuid[19]), std::string::npos) << uuid;
  }
}

TEST(Assert, AbortsWithTheState) {
  const int used = 3;
  const auto check = [&] { BERTH_ASSERT(used < 2, "used " + std::to_string(used)); };
  EXPECT_DEATH(check(), "used < 2.*used 3");
}

} // namespace
} // namespace berth
