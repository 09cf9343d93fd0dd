#include "berth/sched/uid_index.h"

#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "berth/base/rng.h"

namespace berth::sched {
namespace {

/// Pods come and go at random; a map says what should be there.
TEST(UidIndex, FindsWhatIsThereThroughHistoriesOfComingAndGoing) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    UidIndex index;
    std::vector<std::string> uids; // by slot
    std::map<std::string, PodSlot> there;
    const auto uid_of = [&](PodSlot slot) -> std::string_view { return uids[slot.index()]; };
    for (int step = 0; step < 2000; ++step) {
      const std::string uid = fmt::format("uid-{}", rng.below(200));
      const auto known = there.find(uid);
      if (known == there.end()) {
        const PodSlot slot(static_cast<std::uint32_t>(uids.size()));
        uids.push_back(uid);
        EXPECT_TRUE(index.insert(uid, slot, uid_of));
        there.emplace(uid, slot);
      } else if (rng.below(4) == 0) {
        EXPECT_FALSE(index.insert(uid, PodSlot(0), uid_of)) << uid;
      } else {
        index.erase(uid, known->second);
        there.erase(known);
      }
      ASSERT_EQ(index.size(), there.size());
    }
    for (int i = 0; i < 200; ++i) {
      const std::string uid = fmt::format("uid-{}", i);
      const auto known = there.find(uid);
      EXPECT_EQ(index.find(uid, uid_of),
                known == there.end() ? std::nullopt : std::optional(known->second))
          << "seed " << seed << " " << uid;
    }
  }
}

TEST(UidIndex, IsEmptyAtFirst) {
  const UidIndex index;
  EXPECT_EQ(index.size(), 0U);
  EXPECT_EQ(index.find("a", [](PodSlot) { return std::string_view(); }), std::nullopt);
}

} // namespace
} // namespace berth::sched
