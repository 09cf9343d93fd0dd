#include "berth/node/contents/pod_dns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::node {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const runtime::DnsConfig kMachine{
    .servers = {"192.0.2.1", "192.0.2.2"}, .searches = {"example.org"}, .options = {"timeout:2"}};

runtime::DnsConfig dns(const std::string& spec, std::vector<std::string> cluster = {"10.96.0.10"}) {
  const auto pod =
      api::parse_json(R"({"metadata":{"namespace":"shop"},"spec":)" + spec + "}").value();
  return pod_dns(pod, {.cluster_servers = std::move(cluster)}, kMachine);
}

TEST(PodDns, TheClustersComesFirst) {
  for (const char* spec : {"{}", R"({"dnsPolicy":"ClusterFirst"})",
                           R"({"dnsPolicy":"ClusterFirstWithHostNet","hostNetwork":true})"}) {
    const auto made = dns(spec);
    EXPECT_THAT(made.servers, ElementsAre("10.96.0.10")) << spec;
    EXPECT_THAT(made.searches, ElementsAre("shop.svc.cluster.local", "svc.cluster.local",
                                           "cluster.local", "example.org"));
    EXPECT_THAT(made.options, ElementsAre("ndots:5"));
  }
}

TEST(PodDns, OtherwiseItIsTheMachines) {
  EXPECT_EQ(dns(R"({"dnsPolicy":"Default"})"), kMachine);
  EXPECT_EQ(dns(R"({"dnsPolicy":"ClusterFirst","hostNetwork":true})"), kMachine);
  EXPECT_EQ(dns("{}", {}), kMachine) << "the cluster has none";
}

TEST(PodDns, APodsOwnWordsAreAdded) {
  const auto made = dns(R"({"dnsPolicy":"Default","dnsConfig":{
    "nameservers":["192.0.2.2","192.0.2.9","192.0.2.10"],"searches":["own.example","example.org"],
    "options":[{"name":"timeout","value":"5"},{"name":"edns0"}]}})");
  EXPECT_THAT(made.servers, ElementsAre("192.0.2.1", "192.0.2.2", "192.0.2.9"))
      << "no more than three";
  EXPECT_THAT(made.searches, ElementsAre("example.org", "own.example"));
  EXPECT_THAT(made.options, ElementsAre("timeout:5", "edns0"));
}

TEST(PodDns, NoneIsWhatThePodSaysAlone) {
  const auto made = dns(R"({"dnsPolicy":"None","dnsConfig":{"nameservers":["192.0.2.7"]}})");
  EXPECT_THAT(made.servers, ElementsAre("192.0.2.7"));
  EXPECT_THAT(made.searches, IsEmpty());
}

TEST(ResolvConf, IsReadAsAResolverReadsIt) {
  const auto read = parse_resolv_conf("# one\n; two\nnameserver 192.0.2.1\nnameserver\n"
                                      "search old.example\nsearch  a.example\tb.example\n"
                                      "options ndots:2 edns0\noptions ndots:3\nsortlist x\n"
                                      "nameserver 2001:db8::1");
  EXPECT_THAT(read.servers, ElementsAre("192.0.2.1", "2001:db8::1"));
  EXPECT_THAT(read.searches, ElementsAre("a.example", "b.example"));
  EXPECT_THAT(read.options, ElementsAre("edns0", "ndots:3"));
  EXPECT_EQ(parse_resolv_conf(""), runtime::DnsConfig());
}

} // namespace
} // namespace berth::node
