#include "berth/node/contents/hosts_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::node {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

api::json::value json_of(std::string_view text) {
  return api::parse_json(text).value();
}

TEST(HostsFile, HasThePodAndItsAliases) {
  const auto pod = json_of(R"({"metadata": {"name": "p", "namespace": "ns"}, "spec": {
      "subdomain": "sub", "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a", "b.c"]},
                                          {"ip": "::5", "hostnames": ["d"]}]}})");
  ASSERT_TRUE(wants_hosts_file(pod));
  const std::string text = hosts_file(pod, "10.1.0.7", "");
  EXPECT_THAT(text, StartsWith("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n"));
  EXPECT_THAT(text, HasSubstr("10.1.0.7\tp.sub.ns.svc.cluster.local\tp\n"));
  EXPECT_THAT(text, HasSubstr("\n# Entries added by HostAliases.\n1.2.3.4\ta\tb.c\n::5\td\n"));
}

TEST(HostsFile, OfThePodOnTheHostsNetworkGoesOnFromTheMachines) {
  const auto pod = json_of(R"({"metadata": {"name": "p"}, "spec": {"hostNetwork": true,
      "hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a"]}]}})");
  EXPECT_EQ(hosts_file(pod, "10.0.0.1", "127.0.0.1 localhost\n"),
            "# Kubernetes-managed hosts file (host network).\n127.0.0.1 localhost\n\n"
            "# Entries added by HostAliases.\n1.2.3.4\ta\n");
}

TEST(HostsFile, IsWantedOnlyByPodsWithAliases) {
  EXPECT_FALSE(wants_hosts_file(json_of(R"({"spec": {}})")));
}

TEST(Hostname, IsThePodsOwnOrItsName) {
  EXPECT_EQ(hostname_of(json_of(R"({"metadata": {"name": "p"}, "spec": {"hostname": "h"}})")), "h");
  EXPECT_EQ(hostname_of(json_of(R"({"metadata": {"name": "p"}, "spec": {}})")), "p");
  const std::string longest(62, 'a');
  EXPECT_EQ(hostname_of(json_of(R"({"metadata": {"name": ")" + longest + R"(-bc"}, "spec": {}})")),
            longest);
}

} // namespace
} // namespace berth::node
