#include "berth/client/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::client {
namespace {

using testing::HasSubstr;

constexpr const char* kFile = R"(
apiVersion: v1
kind: Config
current-context: one
contexts:
- name: one
  context: {cluster: c, user: u, namespace: team}
- name: two
  context: {cluster: c, user: program}
- name: three
  context: {cluster: missing, user: u}
clusters:
- name: c
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority-data: Y2E=
    tls-server-name: api.example
users:
- name: u
  user: {token: t, client-certificate-data: Y2VydA==, client-key-data: a2V5}
- name: program
  user: {exec: {command: get-token}}
)";

TEST(Kubeconfig, TheCurrentContextIsRead) {
  const auto access = parse_kubeconfig(kFile, "config");
  ASSERT_TRUE(access.has_value()) << to_string(access.error());
  EXPECT_EQ(access->url.to_string(), "https://10.0.0.1:6443");
  EXPECT_EQ(access->tls.ca, "ca");
  EXPECT_EQ(access->tls.server_name, "api.example");
  EXPECT_EQ(access->tls.certificate, "cert");
  EXPECT_EQ(access->tls.key, "key");
  EXPECT_EQ(access->token, "t");
  EXPECT_EQ(access->ns, "team");
}

TEST(Kubeconfig, WhatCannotBeUsedIsNamed) {
  const struct {
    const char* context;
    const char* why;
  } cases[] = {{"two", "come from a program (exec)"},
               {"three", "there is no cluster \"missing\""},
               {"none", "there is no context \"none\""}};
  for (const auto& c : cases) {
    EXPECT_THAT(to_string(parse_kubeconfig(kFile, "config", c.context).error()), HasSubstr(c.why));
  }
  EXPECT_THAT(to_string(parse_kubeconfig("kind: Config", "f").error()),
              HasSubstr("no current-context"));
  EXPECT_THAT(to_string(parse_kubeconfig("- a", "f").error()), HasSubstr("no kubeconfig file"));
  EXPECT_THAT(to_string(load_access("/no/such/file").error()),
              HasSubstr("/no/such/file: no such file or directory; name a kubeconfig file with "
                        "--kubeconfig"));
  EXPECT_THAT(to_string(load_access("/").error()), HasSubstr("/: is a directory; name"));
}

} // namespace
} // namespace berth::client
