#include "berth/controllers/share.h"

#include <gtest/gtest.h>

namespace berth::controllers {
namespace {

TEST(ShareOf, PercentagesAreOfTheWhole) {
  EXPECT_EQ(share_of("25%", 10, Rounding::Up), 3);
  EXPECT_EQ(share_of("25%", 10, Rounding::Down), 2);
  EXPECT_EQ(share_of("3", 10, Rounding::Up), 3);
  EXPECT_EQ(share_of("some", 10, Rounding::Up), 0);
}

TEST(ShareAt, ReadsNumbersTextsAndWhatIsNotThere) {
  const auto document = *api::parse_json(R"({"a":2,"b":"30%"})");
  EXPECT_EQ(share_at(document, "a", {.whole = 10}), 2);
  EXPECT_EQ(share_at(document, "b", {.whole = 5}), 2);
  EXPECT_EQ(share_at(document, "b", {.whole = 5, .rounding = Rounding::Down}), 1);
  EXPECT_EQ(share_at(document, "c", {.whole = 8, .fallback = "25%"}), 2);
}

} // namespace
} // namespace berth::controllers
