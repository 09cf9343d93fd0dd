#include "berth/node/images/registry_login.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/net/base64.h"

namespace berth::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

api::Object secret(std::string_view key, std::string_view text) {
  return api::Object::parse(R"({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s",)"
                            R"( "namespace": "n"}, "data": {")" +
                            std::string(key) + "\": \"" + net::to_base64(text) + "\"}}")
      .value();
}

std::vector<std::string> servers(const std::vector<runtime::RegistryLogin>& logins) {
  std::vector<std::string> list;
  for (const auto& login : logins) {
    list.push_back(login.username + "@" + login.server);
  }
  return list;
}

TEST(LoginsIn, BothFormsAreRead) {
  const auto json = logins_in(secret(".dockerconfigjson", R"({"auths": {
      "https://index.docker.io/v1/": {"auth": "bWU6c2VjOnJldA=="},
      "r.io/team": {"username": "u", "password": "p"}}})"));
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_THAT(servers(*json), ElementsAre("me@docker.io", "u@r.io/team"));
  EXPECT_EQ(json->front().password, "sec:ret") << "a password may have colons";
  EXPECT_THAT(servers(logins_in(secret(".dockercfg", R"({"r.io": {"username": "u",
                                                                  "password": "p"}})"))
                          .value()),
              ElementsAre("u@r.io"));
}

TEST(LoginsIn, NonsenseIsAnErrorThatNamesTheSecret) {
  for (const char* text : {"no json", "{\"auths\": {\"r.io\": {\"auth\": \"bm9jb2xvbg==\"}}}"}) {
    const auto logins = logins_in(secret(".dockerconfigjson", text));
    ASSERT_FALSE(logins) << text;
  }
  EXPECT_THAT(logins_in(secret(".dockerconfigjson", "no json")).error().message,
              HasSubstr("pull secret n/s does not hold what docker login writes"));
  EXPECT_THAT(logins_in(secret("other", "x")).value(), IsEmpty());
}

TEST(LoginsFor, TheBestMatchComesFirst) {
  const std::vector<runtime::RegistryLogin> all{
      {"any", "p", "*.io"},         {"host", "p", "r.io"},     {"team", "p", "r.io/team"},
      {"other", "p", "r.io/other"}, {"hub", "p", "docker.io"}, {"host", "p", "r.io"}};
  const auto for_image = [&](const char* image) {
    return servers(logins_for(parse_image_name(image).value(), all));
  };
  EXPECT_THAT(for_image("r.io/team/app"), ElementsAre("team@r.io/team", "any@*.io", "host@r.io"));
  EXPECT_THAT(for_image("r.io/app"), ElementsAre("any@*.io", "host@r.io"));
  EXPECT_THAT(for_image("busybox"), ElementsAre("hub@docker.io", "any@*.io"));
  EXPECT_THAT(for_image("a.b.io/x"), IsEmpty()) << "a star is one part of a name";
}

} // namespace
} // namespace berth::node
