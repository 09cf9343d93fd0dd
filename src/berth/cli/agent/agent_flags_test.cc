#include "berth/cli/agent/agent_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using WithoutNetwork = runtime::cri::CriOptions::WithoutNetwork;

using Flags = std::map<std::string, std::vector<std::string>, std::less<>>;
Result<MachineChoice> read(Flags flags) {
  return machine_choice(Values{.flags = std::move(flags), .arguments = {}});
}

TEST(AgentFlags, DefaultsAreTheKubelets) {
  const auto choice = read({});
  ASSERT_TRUE(choice.has_value());
  const node::RealMachineOptions& machine = choice->machine;
  EXPECT_EQ(machine.root, "/var/lib/kubelet");
  EXPECT_EQ(machine.max_pods, 110);
  EXPECT_THAT(machine.dns.cluster_servers, IsEmpty());
  EXPECT_EQ(machine.dns.cluster_domain, "cluster.local");
  EXPECT_EQ(machine.dns.resolv_conf, "/etc/resolv.conf");
  EXPECT_EQ(machine.cri.without_network, WithoutNetwork::Share);
  EXPECT_FALSE(machine.numa.active());
}

TEST(AgentFlags, SayWhatANetworkIs) {
  const auto choice = read({{"--cluster-dns", {"10.96.0.10,10.96.0.11"}},
                            {"--cluster-domain", {"example.org"}},
                            {"--resolv-conf", {"/run/resolv.conf"}},
                            {"--allowed-unsafe-sysctls", {"net.core.*,kernel.msgmax"}},
                            {"--network-without-cni", {"none"}}});
  ASSERT_TRUE(choice.has_value());
  const node::RealMachineOptions& machine = choice->machine;
  EXPECT_THAT(machine.dns.cluster_servers, ElementsAre("10.96.0.10", "10.96.0.11"));
  EXPECT_EQ(machine.dns.cluster_domain, "example.org");
  EXPECT_EQ(machine.dns.resolv_conf, "/run/resolv.conf");
  EXPECT_THAT(machine.unsafe_sysctls, ElementsAre("net.core.*", "kernel.msgmax"));
  EXPECT_EQ(machine.cri.without_network, WithoutNetwork::Refuse);
}

TEST(AgentFlags, SayWhereALoopbackIsConfigured) {
  const auto choice = read({{"--network-without-cni", {"loopback"}},
                            {"--cni-conf-dir", {"/a"}},
                            {"--cni-bin-dir", {"/b"}}});
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->machine.cri.without_network, WithoutNetwork::Loopback);
  EXPECT_EQ(choice->machine.cri.cni, (runtime::cni::Directories{"/a", "/b"}));
  EXPECT_THAT(choice->machine.cri.program, testing::EndsWith("/cli_test"))
      << "the runtime is to start this very program";
}

TEST(AgentFlags, AreRefusedByName) {
  EXPECT_THAT(read({{"--max-pods", {"none"}}}).error().message, HasSubstr("--max-pods: want"));
  EXPECT_THAT(read({{"--node-labels", {"=x"}}}).error().message, HasSubstr("--node-labels: want"));
  EXPECT_THAT(read({{"--reserved-cpus", {"x"}}}).error().message, HasSubstr("--reserved-cpus:"));
}

} // namespace
} // namespace berth::cli
