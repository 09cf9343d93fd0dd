#include "berth/net/asio_background.h"

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::net {
namespace {

TEST(AsioBackground, WorkIsDoneElsewhereInOrderAndToldOnTheLoop) {
  AsioLoop loop;
  const auto background = make_background(loop);
  const auto here = std::this_thread::get_id();
  std::vector<std::string> order;
  for (const std::string name : {"first", "second"}) {
    auto elsewhere = std::make_shared<bool>(false);
    background->run([=] { *elsewhere = std::this_thread::get_id() != here; },
                    [&, elsewhere, name] {
                      EXPECT_TRUE(*elsewhere);
                      EXPECT_EQ(std::this_thread::get_id(), here);
                      order.push_back(name);
                      if (name == "second") {
                        loop.stop();
                      }
                    });
  }
  EXPECT_TRUE(order.empty());
  loop.run();
  EXPECT_THAT(order, testing::ElementsAre("first", "second"));
}

TEST(AsioBackground, WhatWasGivenIsDoneWhenItGoes) {
  constexpr int kGiven = 100;
  AsioLoop loop;
  int done = 0;
  int told = 0;
  {
    const auto background = make_background(loop);
    for (int i = 0; i < kGiven; ++i) {
      background->run([&] { ++done; },
                      [&] {
                        if (++told == kGiven) {
                          loop.stop();
                        }
                      });
    }
  }
  EXPECT_EQ(done, kGiven);
  EXPECT_EQ(told, 0) << "that is the loop's";
  loop.run();
  EXPECT_EQ(told, kGiven);
}

} // namespace
} // namespace berth::net
