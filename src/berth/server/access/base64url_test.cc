#include "berth/server/access/base64url.h"

#include <gtest/gtest.h>

#include "berth/base/rng.h"

namespace berth::server {
namespace {

TEST(Base64url, WritesTheVectorsOfItsRfc) {
  EXPECT_EQ(to_base64url(""), "");
  EXPECT_EQ(to_base64url("f"), "Zg");
  EXPECT_EQ(to_base64url("fo"), "Zm8");
  EXPECT_EQ(to_base64url("foo"), "Zm9v");
  EXPECT_EQ(to_base64url("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64url("\xff\xef\xbe"), "_---");
}

TEST(Base64url, ReadsOnlyWhatItWrites) {
  for (const char* wrong : {"Zg==", "Z", "Zm9vY", "Zh", "Zm 9", "Zm+v", "Zm/v", "Zm9v\n"}) {
    EXPECT_FALSE(from_base64url(wrong).has_value()) << wrong;
  }
}

TEST(Base64url, ReturnsWhatItWasGiven) {
  Rng rng(7);
  for (int turn = 0; turn < 500; ++turn) {
    std::string bytes(rng.below(40), '\0');
    for (char& c : bytes) {
      c = static_cast<char>(rng.below(256));
    }
    ASSERT_EQ(from_base64url(to_base64url(bytes)), bytes);
  }
}

} // namespace
} // namespace berth::server
