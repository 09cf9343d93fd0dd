#include "berth/topology/cpu_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"

namespace berth::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CpuSet, IsSortedAndWithoutRepetition) {
  EXPECT_THAT(CpuSet({3, 1, 3, 2}).ids(), ElementsAre(1, 2, 3));
}

TEST(CpuSet, Combines) {
  const CpuSet a{0, 1, 2, 3};
  const CpuSet b{2, 3, 4};
  EXPECT_EQ(a | b, (CpuSet{0, 1, 2, 3, 4}));
  EXPECT_EQ(a & b, (CpuSet{2, 3}));
  EXPECT_EQ(a - b, (CpuSet{0, 1}));
  EXPECT_TRUE(a.contains(CpuSet{0, 3}));
  EXPECT_FALSE(a.contains(b));
  EXPECT_TRUE(a.meets(b));
  EXPECT_FALSE(a.meets(CpuSet{9}));
  EXPECT_TRUE(a.has(2));
  EXPECT_FALSE(a.has(4));
}

TEST(CpuSet, ReadsWhatLinuxWrites) {
  EXPECT_EQ(CpuSet::parse("0-3,8, 10-11\n").value(), (CpuSet{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(CpuSet::parse("").value(), CpuSet());
  EXPECT_EQ(CpuSet::parse("7").value().to_string(), "7");
}

TEST(CpuSet, ReadsAsItWasWritten) {
  Rng rng(1);
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<int> ids;
    for (std::int64_t i = rng.between(0, 40); i > 0; --i) {
      ids.push_back(static_cast<int>(rng.below(64)));
    }
    const CpuSet set(ids);
    ASSERT_EQ(CpuSet::parse(set.to_string()).value(), set) << set.to_string();
  }
}

struct BadList {
  const char* name;
  const char* text;
  const char* message;
};
class BadLists : public ::testing::TestWithParam<BadList> {};

TEST_P(BadLists, SayWhatIsWrong) {
  const auto read = CpuSet::parse(GetParam().text);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::Invalid);
  EXPECT_THAT(read.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadLists,
    ::testing::Values(BadList{"Word", "all", "not a number"}, BadList{"Empty", "1,,2", "\"\""},
                      BadList{"EndsWithAComma", "1,", "ends with a comma"},
                      BadList{"Negative", "-1", "not a number"},
                      BadList{"Backwards", "3-1", "ends before it begins: \"3-1\""},
                      BadList{"TooGreat", "0-99999999", "from 0 to 65535"},
                      BadList{"Overflow", "99999999999999999999", "not a number"},
                      BadList{"TwoDashes", "1-2-3", "not a number"}),
    [](const auto& each) { return each.param.name; });

} // namespace
} // namespace berth::topology
