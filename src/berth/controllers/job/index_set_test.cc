#include "berth/controllers/job/index_set.h"

#include <set>

#include <gtest/gtest.h>

#include "berth/base/rng.h"

namespace berth::controllers {
namespace {

struct TextCase {
  const char* name;
  const char* text;
  std::int64_t limit;
  const char* canonical;
  std::int64_t size;
};

class IndexSetText : public testing::TestWithParam<TextCase> {};

TEST_P(IndexSetText, ReadsAndWritesCanonically) {
  const TextCase& c = GetParam();
  const IndexSet set = IndexSet::parse(c.text, c.limit);
  EXPECT_EQ(set.to_string(), c.canonical);
  EXPECT_EQ(set.size(), c.size);
  EXPECT_EQ(IndexSet::parse(set.to_string(), c.limit), set);
}

INSTANTIATE_TEST_SUITE_P(
    Table, IndexSetText,
    testing::Values(TextCase{"empty", "", 10, "", 0}, TextCase{"one", "3", 10, "3", 1},
                    TextCase{"two_neighbours_take_a_comma", "3-4", 10, "3,4", 2},
                    TextCase{"three_take_a_dash", "3,4,5", 10, "3-5", 3},
                    TextCase{"unsorted_and_overlapping", "7,1-3,2-5", 10, "1-5,7", 6},
                    TextCase{"adjacent_intervals_melt", "0-2,3-5", 10, "0-5", 6},
                    TextCase{"above_the_limit_is_cut", "2-9", 5, "2-4", 3},
                    TextCase{"wholly_above_the_limit", "5-9", 5, "", 0},
                    TextCase{"damaged_parts_are_skipped", "a,1,-,4-2,2-x,--,3", 10, "1,3", 2},
                    TextCase{"negative_is_damaged", "-1,2", 10, "2", 1},
                    TextCase{"overflow_is_damaged", "99999999999999999999,1", 10, "1", 1}),
    [](const auto& test) { return test.param.name; });

TEST(IndexSet, AgreesWithStdSetOnRandomHistories) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rng rng(seed);
    IndexSet set;
    std::set<std::int64_t> reference;
    for (int step = 0; step < 60; ++step) {
      const std::int64_t index = rng.between(0, 40);
      set.insert(index);
      reference.insert(index);
      ASSERT_EQ(set.size(), static_cast<std::int64_t>(reference.size())) << "seed " << seed;
    }
    for (std::int64_t i = 0; i <= 41; ++i) {
      ASSERT_EQ(set.contains(i), reference.contains(i)) << "seed " << seed << " index " << i;
    }
    ASSERT_EQ(IndexSet::parse(set.to_string(), 100), set) << "seed " << seed;
  }
}

} // namespace
} // namespace berth::controllers
