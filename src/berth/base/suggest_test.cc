#include "berth/base/suggest.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace berth {
namespace {

constexpr std::array<std::string_view, 5> kWords = {"--nodes", "--namespace", "--seed", "--speed",
                                                    "run"};

TEST(Nearest, FindsTheWordThatWasMeant) {
  EXPECT_EQ(nearest("--node", kWords), "--nodes");
  EXPECT_EQ(nearest("--nodse", kWords), "--nodes") << "swapped neighbours are one edit";
  EXPECT_EQ(nearest("--namespcae", kWords), "--namespace");
  EXPECT_EQ(nearest("--spee", kWords), "--speed") << "one letter added beats one replaced";
  EXPECT_EQ(nearest("rum", kWords), "run");
  EXPECT_EQ(nearest("--nodes", kWords), "--nodes");
}

TEST(Nearest, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest("--frobnicate", kWords), "");
  EXPECT_EQ(nearest("x", kWords), "");
  EXPECT_EQ(nearest("", kWords), "");
  EXPECT_EQ(nearest("--nodes", {}), "");
  EXPECT_EQ(nearest(std::string(100'000, 'a'), kWords), "");
}

} // namespace
} // namespace berth
