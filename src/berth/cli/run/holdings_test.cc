#include "berth/cli/run/holdings.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"

namespace berth::cli {
namespace {

using ::testing::ElementsAre;

TimePoint at(std::int64_t seconds) {
  return TimePoint::from_unix_seconds(seconds);
}

Holding holding(std::int64_t from, std::int64_t to, std::size_t gpus) {
  Holding h;
  h.from = at(from);
  h.to = at(to);
  static int number = 0; // GPUs of its own
  h.node = fmt::format("n{}", number++);
  h.gpus.resize(gpus);
  std::iota(h.gpus.begin(), h.gpus.end(), 0);
  return h;
}

TEST(NaturalLess, ComparesNumbersAsNumbers) {
  std::vector<std::string> names = {"dgx-10",  "dgx-2",  "dgx-1", "a100-3",
                                    "dgx-1-b", "dgx-02", "dgx"};
  std::ranges::sort(names, natural_less);
  EXPECT_THAT(names, ElementsAre("a100-3", "dgx", "dgx-1", "dgx-1-b", "dgx-02", "dgx-2", "dgx-10"));
  EXPECT_FALSE(natural_less("", ""));
  EXPECT_TRUE(natural_less("", "0"));
  EXPECT_TRUE(natural_less("n-99999999999999999999", "n-100000000000000000000"))
      << "longer than any integer";
}

TEST(NaturalLess, IsAStrictWeakOrder) {
  Rng rng(7);
  const auto name = [&] {
    std::string text;
    for (std::uint64_t i = rng.below(5); i > 0; --i) {
      text += "a0129-"[rng.below(6)];
    }
    return text;
  };
  for (int i = 0; i < 5'000; ++i) {
    const std::string a = name();
    const std::string b = name();
    const std::string c = name();
    EXPECT_FALSE(natural_less(a, a)) << a;
    EXPECT_FALSE(natural_less(a, b) && natural_less(b, a)) << a << " " << b;
    EXPECT_TRUE(a == b || natural_less(a, b) || natural_less(b, a)) << a << " " << b;
    if (natural_less(a, b) && natural_less(b, c)) {
      EXPECT_TRUE(natural_less(a, c)) << a << " " << b << " " << c;
    }
  }
}

TEST(SpansHeld, PodsThatShareAGpuHoldItOnce) {
  std::vector<Holding> shared = {holding(0, 10, 1), holding(5, 20, 1), holding(30, 40, 2)};
  for (Holding& each : shared) {
    each.node = "n";
  }
  EXPECT_THAT(spans_held(shared), ElementsAre(std::pair(at(0), at(20)), std::pair(at(30), at(40)),
                                              std::pair(at(30), at(40))));
  EXPECT_EQ(busiest_moment(shared, at(99)), at(30));
  EXPECT_TRUE(spans_held({}).empty());
}

TEST(BusiestMoment, IsTheFirstWithMostGpus) {
  EXPECT_EQ(busiest_moment({holding(1, 5, 2), holding(3, 8, 4), holding(6, 9, 2)}, at(0)), at(3));
  EXPECT_EQ(busiest_moment({holding(1, 5, 2), holding(5, 8, 2)}, at(0)), at(1))
      << "the second follows the first";
  EXPECT_EQ(busiest_moment({holding(1, 5, 0)}, at(7)), at(7)) << "nobody holds a GPU";
  EXPECT_EQ(busiest_moment({}, at(7)), at(7));
}

TEST(BusiestMoment, AgreesWithLookingAtEveryStart) {
  Rng rng(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<Holding> holdings;
    for (std::uint64_t i = rng.below(12) + 1; i > 0; --i) {
      const std::int64_t from = rng.between(0, 20);
      holdings.push_back(
          holding(from, from + rng.between(1, 10), static_cast<std::size_t>(rng.between(0, 8))));
    }
    const auto held_at = [&](TimePoint when) {
      std::size_t n = 0;
      for (const Holding& h : holdings) {
        n += h.at(when) ? h.gpus.size() : 0;
      }
      return n;
    };
    std::size_t most = 0;
    for (std::int64_t t = 0; t <= 30; ++t) {
      most = std::max(most, held_at(at(t)));
    }
    if (most > 0) {
      EXPECT_EQ(held_at(busiest_moment(holdings, at(99))), most) << "round " << round;
    }
  }
}

} // namespace
} // namespace berth::cli
