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

TEST(AgentFlags, GiveGpusAsHamisVgpus) {
  EXPECT_FALSE(read({})->machine.hami);
  EXPECT_EQ(read({{"--gpu-sharing", {"hami"}}})->machine.hami, node::HamiSettings());
  EXPECT_EQ(
      read({{"--gpu-sharing", {"hami"}},
            {"--device-split-count", {"4"}},
            {"--device-memory-scaling", {"1.5"}},
            {"--device-cores-scaling", {"2"}}})
          ->machine.hami,
      (node::HamiSettings{.split_count = 4, .memory_permille = 1500, .cores_permille = 2000}));
  const auto none = read({{"--device-split-count", {"4"}}});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("--device-split-count is of --gpu-sharing hami"));
  const auto zero = read({{"--gpu-sharing", {"hami"}}, {"--device-split-count", {"0"}}});
  ASSERT_FALSE(zero);
  EXPECT_THAT(zero.error().message, HasSubstr("deviceSplitCount must be a number from 1 to 1000"));
}

TEST(AgentFlags, SayHowLongPodsAreHeldForDevices) {
  EXPECT_EQ(read({})->machine.device_wait, Duration::minutes(5));
  EXPECT_EQ(read({})->machine.patience, node::Patience::Wait);
  EXPECT_EQ(read({{"--device-wait", {"90s"}}})->machine.device_wait, Duration::seconds(90));
  EXPECT_EQ(read({{"--device-wait", {"0"}}})->machine.patience, node::Patience::None);
  EXPECT_THAT(read({{"--device-wait", {"soon"}}}).error().message, HasSubstr("--device-wait: "));
  EXPECT_THAT(read({{"--device-wait", {"-1s"}}}).error().message, HasSubstr("--device-wait: "));
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
