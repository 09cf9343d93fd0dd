#include "berth/cli/cluster_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth/testing/temp_files.h"

namespace berth::cli {
namespace {

using testing::HasSubstr;

class ClusterAccess : public test::TempFiles {
 protected:
  std::string kubeconfig(const std::string& name = "config", const std::string& port = "6443") {
    return write(name, R"(apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://127.0.0.1:)" +
                           port + R"("}}]
users: [{name: u, user: {token: secret}}]
)");
  }
  Result<client::ServerAccess> at(const std::string& api) {
    Values values;
    values.flags["--kubeconfig"] = {kubeconfig()};
    if (!api.empty()) {
      values.flags["--api"] = {api};
    }
    return cluster_access(values);
  }
};

TEST_F(ClusterAccess, IsOfAnotherFileWhereTheFlagNamesNone) {
  const std::string fallback = kubeconfig("fallback", "7443");
  Values values;
  EXPECT_EQ(cluster_access(values, fallback)->url.to_string(), "https://127.0.0.1:7443");
  values.flags["--kubeconfig"] = {kubeconfig()};
  EXPECT_EQ(cluster_access(values, fallback)->url.to_string(), "https://127.0.0.1:6443");
}

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
