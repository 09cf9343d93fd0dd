#include "berth/net/base64.h"

#include <gtest/gtest.h>

namespace berth::net {
namespace {

TEST(Base64, IsAsInTheRfc) {
  const struct {
    const char* plain;
    const char* coded;
  } cases[] = {{"", ""},
               {"f", "Zg=="},
               {"fo", "Zm8="},
               {"foo", "Zm9v"},
               {"foob", "Zm9vYg=="},
               {"fooba", "Zm9vYmE="},
               {"foobar", "Zm9vYmFy"}};
  for (const auto& c : cases) {
    EXPECT_EQ(to_base64(c.plain), c.coded);
    EXPECT_EQ(from_base64(c.coded), c.plain);
  }
  EXPECT_EQ(from_base64("Zm9v\n YmFy\n"), "foobar");
}

TEST(Base64, WhatIsNoneIsRefused) {
  for (const char* text : {"Zg", "Zg=", "Z=g=", "====", "Zm9v!mFy", "Zg==Zg=="}) {
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
  }
}

} // namespace
} // namespace berth::net
