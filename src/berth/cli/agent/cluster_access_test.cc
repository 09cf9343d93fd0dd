#include "berth/cli/agent/cluster_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/temp_files.h"

namespace berth::cli {
namespace {

using testing::HasSubstr;

class ClusterAccess : public test::TempFiles {
 protected:
  Result<client::ServerAccess> at(const std::string& api) {
    const std::string file = write("config", R"(apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://127.0.0.1:6443"}}]
users: [{name: u, user: {token: secret}}]
)");
    Values values;
    values.flags["--kubeconfig"] = {file};
    if (!api.empty()) {
      values.flags["--api"] = {api};
    }
    return cluster_access(values);
  }
};

TEST_F(ClusterAccess, IsTheKubeconfigsAtAnotherAddressIfAsked) {
  EXPECT_EQ(at("")->url.to_string(), "https://127.0.0.1:6443");
  const auto elsewhere = at("https://10.0.0.1:7443");
  ASSERT_TRUE(elsewhere) << to_string(elsewhere.error());
  EXPECT_EQ(elsewhere->url.to_string(), "https://10.0.0.1:7443");
  EXPECT_EQ(elsewhere->token, "secret");
}

TEST_F(ClusterAccess, CredentialsGoNowhereInTheClear) {
  for (const char* api : {"http://10.0.0.1:7443", "10.0.0.1:7443", "ftp://x", "https://"}) {
    const auto access = at(api);
    ASSERT_FALSE(access) << api;
    EXPECT_EQ(access.error().code, Code::BadRequest);
    EXPECT_THAT(access.error().message, HasSubstr("--api: "));
  }
}

} // namespace
} // namespace berth::cli
