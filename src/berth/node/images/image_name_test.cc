#include "berth/node/images/image_name.h"

#include <ostream>

#include <gtest/gtest.h>

namespace berth::node {
namespace {

struct Case {
  const char* text;
  const char* registry;
  const char* path;
  const char* tag;
  const char* digest;
};

std::ostream& operator<<(std::ostream& out, const Case& each) {
  return out << each.text;
}

class GoodName : public ::testing::TestWithParam<Case> {};

TEST_P(GoodName, IsTakenApart) {
  const auto name = parse_image_name(GetParam().text);
  ASSERT_TRUE(name) << name.error().message;
  EXPECT_EQ(name->registry, GetParam().registry);
  EXPECT_EQ(name->path, GetParam().path);
  EXPECT_EQ(name->tag, GetParam().tag);
  EXPECT_EQ(name->digest, GetParam().digest);
}

constexpr const char* kDigest =
    "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

INSTANTIATE_TEST_SUITE_P(
    Names, GoodName,
    ::testing::Values(
        Case{"busybox", "docker.io", "library/busybox", "latest", ""},
        Case{"busybox:1.36", "docker.io", "library/busybox", "1.36", ""},
        Case{"user/app", "docker.io", "user/app", "latest", ""},
        Case{"nvcr.io/nvidia/pytorch:24.01-py3", "nvcr.io", "nvidia/pytorch", "24.01-py3", ""},
        Case{"localhost:5000/a/b_c__d-e.f", "localhost:5000", "a/b_c__d-e.f", "latest", ""},
        Case{"localhost/a", "localhost", "a", "latest", ""},
        Case{"r.io/a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
             "r.io", "a", "", kDigest},
        Case{"r.io/a:v1@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
             "r.io", "a", "v1", kDigest}));

class BadName : public ::testing::TestWithParam<const char*> {};

TEST_P(BadName, IsRefused) {
  const auto name = parse_image_name(GetParam());
  ASSERT_FALSE(name) << name->registry << " " << name->path;
  EXPECT_EQ(name.error().message, std::string("couldn't parse image name \"") + GetParam() +
                                      "\": invalid reference format");
}

INSTANTIATE_TEST_SUITE_P(Names, BadName,
                         ::testing::Values("", ":tag", "library/UPPER", "a//b", "a:", "a:b:c", "-a",
                                           "a-", "a..b", "a___b", "a b", "a@sha256:12", "a@",
                                           "r.io/", "host:port/a", "a:.x"));

TEST(PullPolicyOf, FollowsTheTagUnlessItIsSaid) {
  const auto policy = [](std::string_view image, std::string_view container) {
    return pull_policy(api::parse_json(container).value(), parse_image_name(image).value());
  };
  EXPECT_EQ(policy("a", "{}"), PullPolicy::Always);
  EXPECT_EQ(policy("a:latest", "{}"), PullPolicy::Always);
  EXPECT_EQ(policy("a:1", "{}"), PullPolicy::IfNotPresent);
  EXPECT_EQ(policy(std::string("a@") + kDigest, "{}"), PullPolicy::IfNotPresent);
  EXPECT_EQ(policy("a", R"({"imagePullPolicy": "Never"})"), PullPolicy::Never);
  EXPECT_EQ(policy("a:1", R"({"imagePullPolicy": "Always"})"), PullPolicy::Always);
  EXPECT_EQ(policy("a", R"({"imagePullPolicy": "IfNotPresent"})"), PullPolicy::IfNotPresent);
}

} // namespace
} // namespace berth::node
