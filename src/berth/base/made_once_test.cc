#include "berth/base/made_once.h"

#include <array>
#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace berth {
namespace {

constexpr std::size_t kThreads = 4;
constexpr int kRounds = 300;

/// Runs it on several threads at once.
template <class Work> void together(Work work) {
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      work(i);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST(MadeOnce, IsMadeByOneOfThoseWhoAsk) {
  for (int round = 0; round < kRounds; ++round) {
    const MadeOnce<std::string> value;
    std::atomic<int> made = 0;
    std::array<const std::string*, kThreads> seen{};
    together([&](std::size_t i) {
      seen.at(i) = &value.get([&] {
        ++made;
        return std::string("x");
      });
    });
    EXPECT_EQ(made, 1);
    for (const std::string* one : seen) {
      EXPECT_EQ(one, seen.front());
      EXPECT_EQ(*one, "x");
    }
  }
}

TEST(MadeSlots, WhoeverIsFirstAllGetTheSame) {
  const std::array<char, 3> slots{};
  for (int round = 0; round < kRounds; ++round) {
    MadeSlots made;
    std::array<std::array<std::shared_ptr<const void>, slots.size()>, kThreads> got;
    together([&](std::size_t i) {
      for (std::size_t slot = 0; slot < slots.size(); ++slot) {
        auto found = made.find(&slots.at(slot));
        got.at(i).at(slot) = found
                                 ? std::move(found)
                                 : made.keep(&slots.at(slot), std::make_shared<std::size_t>(slot));
      }
    });
    for (const auto& mine : got) {
      for (std::size_t slot = 0; slot < slots.size(); ++slot) {
        EXPECT_EQ(mine.at(slot), got.front().at(slot));
        EXPECT_EQ(*std::static_pointer_cast<const std::size_t>(mine.at(slot)), slot);
      }
    }
  }
}

TEST(MadeSlots, ASlotThatNobodyFilledIsEmpty) {
  MadeSlots made;
  const std::array<char, 2> slots{};
  made.keep(&slots[0], std::make_shared<int>(1));
  EXPECT_EQ(made.find(&slots[1]), nullptr);
  EXPECT_NE(made.find(&slots[0]), nullptr);
}

} // namespace
} // namespace berth
